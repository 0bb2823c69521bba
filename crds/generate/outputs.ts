/** What is generated, and whether what is there is current. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Kind } from '../kinds/kind.ts';
import { type CheckRow, checksReference } from './checks-reference.ts';
import { customResourceDefinition } from './crd.ts';
import { type ErrorRow, errorsReference } from './errors-reference.ts';
import { keysReference } from './keys-reference.ts';
import { type PricedProvider, pricesReference } from './prices-reference.ts';
import { reference } from './reference.ts';

/** Text of every generated file by its name in crds/generated. */
export function outputs(
  kinds: readonly Kind[],
  errors: readonly ErrorRow[],
  prices: readonly PricedProvider[],
  checks: readonly CheckRow[],
): ReadonlyMap<string, string> {
  const header = '# Written by `npm run generate` from the schemas; do not edit.\n';
  const yaml = { lineWidth: 0, aliasDuplicateObjects: false };
  return new Map([
    ...kinds.map((kind) => [`${kind.plural}.yaml`, header + stringify(customResourceDefinition(kind), yaml)] as const),
    ['reference.md', reference(kinds)] as const,
    ['errors.md', errorsReference(errors)] as const,
    ['keys.md', keysReference()] as const,
    ['prices.md', pricesReference(prices)] as const,
    ['checks.md', checksReference(checks)] as const,
  ]);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Names of files that are missing, differ, or, where all of the directory `isOurs`, are no longer generated. Throws where the
 * directory cannot be read.
 */
export function staleFiles(directory: string, files: ReadonlyMap<string, string>, isOurs = true): string[] {
  const differing = [...files].filter(([name, text]) => textOf(join(directory, name)) !== text).map(([name]) => name);
  mkdirSync(directory, { recursive: true });
  const leftOver = isOurs ? readdirSync(directory).filter((name) => !files.has(name)) : [];
  return [...differing, ...leftOver].sort();
}

export function writeFiles(directory: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(directory, name), text);
}
