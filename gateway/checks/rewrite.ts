/** Changes to a body, by path. The body itself is never changed: what lies beside the paths is shared. */
import type { Json } from '../providers/provider.ts';
import { CheckError } from './check.ts';
import type { SubjectText } from './subject.ts';

export type Path = readonly (string | number)[];

export interface Rewrite {
  /** From the body itself; empty: the whole body. */
  readonly path: Path;
  readonly value: unknown;
}

/** A body with the changes, in their order. Throws CheckError where a path leads nowhere. */
export function applyRewrites(body: Json, rewrites: readonly Rewrite[]): Json {
  let current: unknown = body;
  for (const { path, value } of rewrites) current = replaced(current, path, 0, value);
  return current as Json;
}

function replaced(node: unknown, path: Path, depth: number, value: unknown): unknown {
  const step = path[depth];
  if (step === undefined) return value;
  if (Array.isArray(node) && typeof step === 'number' && step in node)
    return node.with(step, replaced(node[step], path, depth + 1, value));
  if (typeof node === 'object' && node !== null && Object.hasOwn(node, step)) {
    return { ...node, [step]: replaced((node as Json)[step], path, depth + 1, value) };
  }
  throw new CheckError('A rewritten text has no place in the body any more.');
}

/** The change that puts another text where one was read. Throws CheckError where arguments would be no JSON any more. */
export function rewriteText({ path, part, given }: SubjectText, text: string): Rewrite {
  if (part !== 'arguments') return { path, value: text };
  const parsed = parsedJson(text);
  if (typeof given === 'string') {
    if (parsed === undefined && parsedJson(given) !== undefined) throw new CheckError(BROKEN_ARGUMENTS);
    return { path, value: text };
  }
  if (typeof parsed !== 'object' || parsed === null) throw new CheckError(BROKEN_ARGUMENTS);
  return { path, value: parsed };
}

const BROKEN_ARGUMENTS = 'The rewritten arguments of a tool call would be no JSON any more.';

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
