/** JSON objects as the server handles them: never changed, always made anew. */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `{}` for what is no object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Without the fields whose value is undefined. */
export function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

export function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isFields(value) && Object.keys(value).length === 0;
}

/** RFC 7396: null takes a field away, a list replaces a list. */
export function mergePatched(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged: Record<string, unknown> = { ...fieldsOf(value) };
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete merged[name];
    else merged[name] = mergePatched(merged[name], change);
  }
  return merged;
}
