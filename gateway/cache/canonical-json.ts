/**
 * One text for all ways to write a JSON value: keys sorted by code unit, no white space. Texts keep their code points: two
 * unicode forms of one letter are two texts, and a lone surrogate is none of the others.
 *
 * undefined where numbers cannot be told apart any more: integers beyond 2^53 and infinities, which several literals parse to.
 */
export function canonicalJson(value: unknown): string | undefined {
  if (typeof value === 'number') return isTold(value) ? JSON.stringify(value) : undefined;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return Array.isArray(value) ? ofItems(value) : ofObject(value as Readonly<Record<string, unknown>>);
}

function isTold(value: number): boolean {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

function ofItems(items: readonly unknown[]): string | undefined {
  let text = '[';
  for (let at = 0; at < items.length; at += 1) {
    const item = canonicalJson(items[at]);
    if (item === undefined) return undefined;
    text += at === 0 ? item : `,${item}`;
  }
  return `${text}]`;
}

function ofObject(object: Readonly<Record<string, unknown>>): string | undefined {
  let text = '{';
  for (const key of Object.keys(object).sort()) {
    const value = object[key];
    if (value === undefined) continue;
    const said = canonicalJson(value);
    if (said === undefined) return undefined;
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${said}`;
  }
  return `${text}}`;
}
