/** What a running stream has said, for those who join it: from its start on as long as that is in here. */
export class ReplayLog<Chunk> {
  readonly #maxBytes: number;
  #chunks: { readonly chunk: Chunk; readonly bytes: number }[] = [];
  #bytes = 0;
  /** Number of the first chunk that is in here. */
  #from = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Number of the next chunk. */
  get end(): number {
    return this.#from + this.#chunks.length;
  }

  /** Number of the oldest chunk that is still in here: whoever needs an older one came too late, or reads too slowly. */
  get from(): number {
    return this.#from;
  }

  add(chunk: Chunk, bytes: number): void {
    this.#chunks.push({ chunk, bytes });
    this.#bytes += bytes;
    let gone = 0;
    for (; this.#bytes > this.#maxBytes; gone += 1) this.#bytes -= this.#chunks[gone]?.bytes ?? 0;
    if (gone === 0) return;
    this.#chunks = this.#chunks.slice(gone);
    this.#from += gone;
  }

  /** Chunks from number `from` on; undefined: the first of them is gone. */
  since(from: number): Chunk[] | undefined {
    if (from < this.#from) return undefined;
    const chunks: Chunk[] = [];
    for (let at = from - this.#from; at < this.#chunks.length; at += 1) {
      const said = this.#chunks[at];
      if (said !== undefined) chunks.push(said.chunk);
    }
    return chunks;
  }
}
