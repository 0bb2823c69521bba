/** Finds the next of several signs in one text, each part of which is searched once however often it is asked. */
export class Lookout {
  private readonly text: string;
  private signs: readonly string[] = [];
  private found: number[] = [];

  constructor(text: string) {
    this.text = text;
  }

  /** Index of the first sign at or after `from`; Infinity where there is none. `from` never goes back. */
  next(signs: readonly string[], from: number): number {
    if (signs !== this.signs) {
      this.signs = signs;
      this.found = signs.map(() => -1);
    }
    let nearest = Number.POSITIVE_INFINITY;
    for (let index = 0; index < signs.length; index += 1) nearest = Math.min(nearest, this.place(index, from));
    return nearest;
  }

  private place(index: number, from: number): number {
    const known = this.found[index] ?? -1;
    if (known >= from) return known;
    const place = this.text.indexOf(this.signs[index] ?? '', from);
    const found = place === -1 ? Number.POSITIVE_INFINITY : place;
    this.found[index] = found;
    return found;
  }
}
