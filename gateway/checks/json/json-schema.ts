import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { compilePattern } from '#crds/config/re2.ts';
import { freeObject } from '#crds/config/values.ts';
import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { windowOf } from '../pattern.ts';
import { bounded, looked } from '../scope.ts';
import { findJson } from './find-json.ts';
import { withinTime } from './time-limit.ts';

const MAX_SCHEMA_CHARACTERS = 65_536;
const MAX_COMPLAINTS = 5;
/** For one text: nobody else is served meanwhile. */
const MAX_MS = 500;
/** With these a small schema can take for ever: references may branch, and every two items be compared. */
const UNBOUNDED = /"(?:\$ref|\$dynamicRef|\$recursiveRef|uniqueItems)"/;

export const jsonSchema = defineCheck({
  id: 'default.jsonSchema',
  does: 'Passes where the last message is or holds JSON (in a fenced block, too) that fits a JSON Schema (2020-12).',
  example: { schema: { type: 'object', required: ['answer'], properties: { answer: { type: 'string' } } } },
  parameters: z.strictObject({
    schema: freeObject('The schema. Patterns are RE2; references stay within it.').superRefine((schema, context) => {
      const compiled = compileSchema(schema);
      if (typeof compiled === 'string') context.addIssue({ code: 'custom', message: compiled });
    }),
    not,
    ...everyCheck,
  }),
  compile({ schema, not: turned }) {
    const fits = compileSchema(schema);
    if (typeof fits === 'string') throw new Error(`an unchecked schema ${fits}`);
    const isBounded = !UNBOUNDED.test(JSON.stringify(schema));
    return (subject) => {
      const candidates = findJson(looked(subject, false)[0] ?? '');
      const problems = isBounded ? misfits(fits, candidates) : withinTime(() => misfits(fits, candidates), MAX_MS);
      if (problems === undefined) return found(true, turned, { found: candidates.length });
      return found(false, turned, { found: candidates.length, problems: problems.slice(0, MAX_COMPLAINTS) });
    };
  },
});

/** What is wrong with all of them; undefined: one fits. */
function misfits(fits: ValidateFunction, candidates: readonly unknown[]): readonly string[] | undefined {
  const problems: string[] = [];
  for (const candidate of candidates) {
    if (fits(candidate)) return undefined;
    problems.push(...(fits.errors ?? []).map(complaint));
  }
  return problems;
}

function complaint({ instancePath, message = 'is wrong' }: ErrorObject): string {
  return `${instancePath === '' ? 'the whole' : instancePath.slice(0, 200)} ${message}`;
}

/** In the place of native patterns, which could take for ever. */
function linearPattern(source: string) {
  const compiled = compilePattern(source);
  if (typeof compiled === 'string') throw new Error(`a pattern ${compiled}`);
  const window = windowOf(compiled);
  return {
    test: (text: string) => bounded([text], window).some((bound) => compiled.test(bound)),
    toString: () => source,
  };
}

const regExp = Object.assign(linearPattern, { code: 'linearPattern' });

/** Compiles the schema of schemas once, which takes longer than most schemas. */
const judge = new Ajv2020({ strict: false, logger: false });

function compileSchema({ $schema: _, ...schema }: Record<string, unknown>): ValidateFunction | string {
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARACTERS)
    return `must have at most ${MAX_SCHEMA_CHARACTERS} characters as JSON`;
  try {
    if (!judge.validateSchema(schema))
      return `must be a JSON Schema: ${judge.errors?.map(complaint)[0] ?? 'it is none'}`;
    // One for each schema: what it compiles it keeps.
    const ajv = new Ajv2020({
      ownProperties: true,
      strict: false,
      logger: false,
      meta: false,
      validateSchema: false,
      code: { regExp },
    });
    ajvFormats.default(ajv, { mode: 'full' });
    return ajv.compile(schema);
  } catch (error) {
    return `must be a JSON Schema: ${error instanceof Error ? error.message.slice(0, 200) : 'it cannot be compiled'}`;
  }
}
