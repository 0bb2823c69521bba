/**
 * Room for unit vectors of one length, all in one memory. Beside each lies how long the rest of it is from each of a few
 * places on: what is left of two vectors adds at most the product of these lengths to their cosine, so that most of those
 * that are too far away are left after a part of their numbers, and none is left wrongly.
 */
import { type Kernel, newKernel, PAGE_BYTES, STEP } from './vector-kernel.ts';

/** Memory grows by so much. */
const GROWTH_PAGES = 16;
/** What rounding to 32 bits adds up to stays below it. */
const SLACK = 1e-4;

export class VectorArena {
  readonly dimensions: number;
  /** That one vector takes. */
  readonly slotBytes: number;
  readonly #steps: number;
  /** From the beginning of a slot to its vector. */
  readonly #vectorAt: number;
  readonly #kernel: Kernel;
  #floats: Float32Array;
  readonly #free: number[] = [];
  /** The first slot is the query's. */
  #end: number;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#steps = Math.ceil(dimensions / STEP);
    this.#vectorAt = Math.ceil(this.#steps / 4) * 16;
    this.slotBytes = this.#vectorAt + this.#steps * STEP * 4;
    this.#kernel = newKernel(this.slotBytes);
    this.#floats = new Float32Array(this.#kernel.memory.buffer);
    this.#end = this.slotBytes;
  }

  /** `unit`: of length 1, of these dimensions. -> its slot. Throws a RangeError where the machine has no memory left. */
  add(unit: Float32Array): number {
    const slot = this.#free.pop() ?? this.#newSlot();
    this.#write(slot, unit);
    return slot;
  }

  remove(slot: number): void {
    this.#free.push(slot);
  }

  /** What `cosine` compares with from now on. */
  ask(unit: Float32Array): void {
    this.#write(0, unit);
  }

  /** With what was asked; less than `wanted` where it does not reach that. */
  cosine(slot: number, wanted: number): number {
    return this.#kernel.reach(0, slot, this.#vectorAt, this.#steps, wanted - SLACK);
  }

  #newSlot(): number {
    const slot = this.#end;
    this.#end += this.slotBytes;
    const { memory } = this.#kernel;
    const missing = this.#end - memory.buffer.byteLength;
    if (missing > 0) {
      memory.grow(Math.max(GROWTH_PAGES, Math.ceil(missing / PAGE_BYTES)));
      this.#floats = new Float32Array(memory.buffer);
    }
    return slot;
  }

  /** What is behind the vector's end is 0 and stays so. */
  #write(slot: number, unit: Float32Array): void {
    this.#floats.set(unit, (slot + this.#vectorAt) / 4);
    let squares = 0;
    for (let step = this.#steps - 1, end = unit.length; step >= 0; end = step * STEP, step -= 1) {
      for (let at = end - 1; at >= step * STEP; at -= 1) squares += (unit[at] ?? 0) ** 2;
      this.#floats[slot / 4 + step] = Math.sqrt(squares);
    }
  }
}

/** The same direction with length 1; undefined where there is none: nothing, or something that is no number. */
export function unitOf(vector: ArrayLike<number>): Float32Array | undefined {
  let squares = 0;
  for (let at = 0; at < vector.length; at += 1) squares += (vector[at] ?? 0) ** 2;
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) return undefined;
  return Float32Array.from(vector, (value) => value / length);
}
