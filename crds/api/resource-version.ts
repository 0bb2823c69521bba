/** Resource versions are decimal numbers of any length: longer is newer, and of equal length the text decides. */

/** Negative: `a` is older. Zero: the same. */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}
