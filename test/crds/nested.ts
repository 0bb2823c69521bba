/** An object of that many levels. */
export function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: nested(levels - 1) };
}
