/** A Secret manifest -> its values. `${env:NAME}` in `stringData` is read from the environment. */
import type { Place, SecretObject } from '../../world.ts';

/** Value of an environment variable; undefined: not set. */
export type Environment = (name: string) => string | undefined;

interface SecretContext {
  readonly environment: Environment;
  readonly generated: boolean;
}

const REFERENCE = /^\s*\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}\s*$/;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

/** A value that cannot be read refuses the whole Secret: half of a credential is of no use. */
export function readSecret(
  raw: Readonly<Record<string, unknown>>,
  identity: { readonly namespace: string; readonly name: string },
  place: Place,
  context: SecretContext,
): SecretObject {
  const values = new Map<string, string>();
  const message =
    collect(raw.data, 'data', decodeBase64, values) ??
    collect(raw.stringData, 'stringData', (text) => expand(text, context.environment), values);
  const object = { ...identity, place, generated: context.generated };
  if (message === undefined) return { ...object, values, refused: undefined };
  return { ...object, values: new Map(), refused: { reason: 'InvalidSecret', message } };
}

type Outcome = { readonly value: string } | { readonly problem: string };

function collect(
  fields: unknown,
  path: string,
  read: (text: string) => Outcome,
  into: Map<string, string>,
): string | undefined {
  if (fields === undefined || fields === null) return undefined;
  if (typeof fields !== 'object' || Array.isArray(fields)) return `${path}: must be an object of strings`;
  for (const [key, text] of Object.entries(fields)) {
    if (typeof text !== 'string') return `${path}.${key}: must be a string (put it in quotes)`;
    const outcome = read(text);
    if ('problem' in outcome) return `${path}.${key}: ${outcome.problem}`;
    into.set(key, outcome.value);
  }
  return undefined;
}

function decodeBase64(text: string): Outcome {
  if (!BASE64.test(text)) return { problem: 'must be base64 (plain text belongs in stringData)' };
  return { value: Buffer.from(text, 'base64').toString('utf8') };
}

function expand(text: string, environment: Environment): Outcome {
  if (!text.includes('${env:')) return { value: text };
  const name = REFERENCE.exec(text)?.[1];
  if (name === undefined) return { problem: `a reference to the environment must be the whole value, as $\{env:NAME}` };
  const value = environment(name);
  if (value === undefined || value === '') return { problem: `the environment variable ${name} is not set` };
  return { value };
}
