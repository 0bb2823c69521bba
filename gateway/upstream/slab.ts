/**
 * Memory for bytes that live for a moment: slices of large blocks, because a block of its own for each read costs more
 * than the copy. A slice keeps its whole block alive, so who keeps bytes for long keeps a copy of them.
 */
const SLAB_BYTES = 64 * 1024;
const MAX_SLICE_BYTES = 16 * 1024;

export class Slab {
  private block = Buffer.allocUnsafeSlow(SLAB_BYTES);
  private used = 0;

  /** The first `bytes` bytes of `source`. */
  copyOf(source: Buffer, bytes: number): Buffer {
    const slice = bytes > MAX_SLICE_BYTES ? Buffer.allocUnsafeSlow(bytes) : this.slice(bytes);
    source.copy(slice, 0, 0, bytes);
    return slice;
  }

  private slice(bytes: number): Buffer {
    if (this.used + bytes > SLAB_BYTES) {
      this.block = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.used = 0;
    }
    const slice = this.block.subarray(this.used, this.used + bytes);
    this.used += bytes;
    return slice;
  }
}
