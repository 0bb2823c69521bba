/** Regular expressions of parameters. */
import type { RE2JS } from 're2js';
import { compilePattern } from '#crds/config/re2.ts';
import { z } from '#crds/config/words.ts';
import { MAX_TEXT } from './scope.ts';

/** What one search may cost: RE2's slowest engine does about 10 of these in a microsecond. */
const MAX_STEPS = 50_000_000;

export function patternText(description: string) {
  return z
    .string()
    .min(1)
    .superRefine((source, context) => {
      const compiled = compilePattern(source);
      if (typeof compiled === 'string') context.addIssue({ code: 'custom', message: compiled });
    })
    .describe(`${description} RE2 syntax, at most 1 KiB.`);
}

/** A source that `patternText` has let pass. */
export function compiledPattern(source: string): RE2JS {
  const compiled = compilePattern(source);
  if (typeof compiled === 'string') throw new Error(`an unchecked pattern ${compiled}`);
  return compiled;
}

/** UTF-16 units that one pattern may look at; small ones reach MAX_TEXT. */
export function windowOf(pattern: RE2JS): number {
  return Math.min(MAX_TEXT, Math.floor(MAX_STEPS / Math.max(1, pattern.programSize())));
}
