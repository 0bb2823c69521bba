/**
 * What is under way, with entry and exit in constant time. Not a Set: a Set that things pass through by the thousand
 * leaves its outgrown tables behind, each of which keeps alive the next one and all that was ever in it until the next
 * full collection.
 */
export interface Rostered {
  /** Owned by the roster; -1 outside of it. */
  place: number;
}

export class Roster<T extends Rostered> {
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  add(item: T): void {
    item.place = this.items.length;
    this.items.push(item);
  }

  /** Nothing happens to what is not in it. */
  delete(item: T): void {
    const { place } = item;
    if (place === -1) return;
    const last = this.items.pop();
    if (last !== undefined && last !== item) {
      this.items[place] = last;
      last.place = place;
    }
    item.place = -1;
  }

  /** A copy, which may be walked while items come and go. */
  list(): readonly T[] {
    return [...this.items];
  }

  /** Those for which `holds`, taken out. */
  takeWhere(holds: (item: T) => boolean): readonly T[] {
    const taken = this.items.filter(holds);
    for (const item of taken) this.delete(item);
    return taken;
  }
}
