/** A pattern that matches where any of the literal words stands: one look at a text instead of one for each word. */
export function anyMark(marks: readonly string[]): RegExp {
  return new RegExp([...new Set(marks)].map(RegExp.escape).join('|'));
}
