/**
 * The inner loop of the search, as WebAssembly, because that alone has instructions that multiply four numbers at once: it is
 * assembled here instruction by instruction, a few hundred bytes in all. In the words of its text format:
 *
 *     (func (param $q i32) (param $r i32) (param $vectorAt i32) (param $steps i32) (param $wanted f32) (result f32)
 *       ;; $q and $r: the rests of query and row, a float for each step; $vectorAt bytes further on: their vectors
 *       (loop
 *         (if (f32.lt (f32.add $sum (f32.mul (f32.load $q) (f32.load $r))) $wanted) (then (return -1)))
 *         $even, $odd = 0
 *         16 times, in turn: $even += (v128.load $q + $vectorAt) * (v128.load $r + $vectorAt)
 *         $sum += the four lanes of $even + $odd
 *         on by one step; again while there is one)
 *       $sum)
 */

/** As much of it as is used here: the language's own types have it among those of browsers alone. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => KernelMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Readonly<Record<string, Readonly<Record<string, object>>>>,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
};

export interface KernelMemory {
  /** Another one after it has grown. */
  readonly buffer: ArrayBuffer;
  /** By so many pages. Throws a RangeError where there are none. */
  grow(pages: number): number;
}

export interface Kernel {
  readonly memory: KernelMemory;
  readonly reach: Reach;
}

export const PAGE_BYTES = 65_536;
/** Numbers between two looks at what can still be reached. */
export const STEP = 64;

/** The cosine of the vectors behind `query` and `row` (bytes into the memory), or -1 as soon as it cannot reach `wanted`. */
export type Reach = (query: number, row: number, vectorAt: number, steps: number, wanted: number) => number;

const [I32, F32, V128] = [0x7f, 0x7d, 0x7b];
const EMPTY_BLOCK = 0x40;
const END = 0x0b;
const [Q, R, VECTOR_AT, STEPS, WANTED, SUM, EVEN, ODD, QV, RV] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

/** Unsigned LEB128. */
function number(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...number(Math.floor(value / 128))];
}

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const f32Load = [0x2a, 2, 0];
const v128Load = (offset: number) => [0xfd, 0x00, 4, ...number(offset)];
const f32x4Mul = [0xfd, ...number(0xe6)];
const f32x4Add = [0xfd, ...number(0xe4)];
const v128Zero = [0xfd, 0x0c, ...Array<number>(16).fill(0)];
const lane = (at: number) => [0xfd, 0x1f, at];
const [f32Mul, f32Add, f32Less] = [[0x94], [0x92], [0x5d]];
const f32MinusOne = [0x43, 0x00, 0x00, 0x80, 0xbf];
const plus = (local: number, bytes: number) => [...get(local), 0x41, ...signed(bytes), 0x6a, ...set(local)];
const f32Sum = [...get(SUM), ...f32Add, ...set(SUM)];

/** LEB128 of a number that is not negative: one bit more, for the sign. */
function signed(value: number): number[] {
  return value < 64 ? [value] : [(value % 128) + 128, ...signed(Math.floor(value / 128))];
}

function product(at: number): number[] {
  const sum = at % 2 === 0 ? EVEN : ODD;
  const loads = [...get(QV), ...v128Load(16 * at), ...get(RV), ...v128Load(16 * at)];
  return [...get(sum), ...loads, ...f32x4Mul, ...f32x4Add, ...set(sum)];
}

function body(): number[] {
  const products = Array.from({ length: STEP / 4 }, (_, at) => product(at)).flat();
  const lanes = [0, 1, 2, 3].flatMap((at) => [...get(EVEN), ...lane(at), ...f32Sum]);
  return [
    ...[4, 1, F32, 2, V128, 2, I32, 0, F32],
    ...[...get(Q), ...get(VECTOR_AT), 0x6a, ...set(QV)],
    ...[...get(R), ...get(VECTOR_AT), 0x6a, ...set(RV)],
    ...[0x03, EMPTY_BLOCK],
    ...[...get(SUM), ...get(Q), ...f32Load, ...get(R), ...f32Load, ...f32Mul, ...f32Add, ...get(WANTED), ...f32Less],
    ...[0x04, EMPTY_BLOCK, ...f32MinusOne, 0x0f, END],
    ...[...v128Zero, ...set(EVEN), ...v128Zero, ...set(ODD)],
    ...products,
    ...[...get(EVEN), ...get(ODD), ...f32x4Add, ...set(EVEN), ...lanes],
    ...[...plus(Q, 4), ...plus(R, 4), ...plus(QV, 4 * STEP), ...plus(RV, 4 * STEP)],
    ...[...get(STEPS), 0x41, 1, 0x6b, 0x22, STEPS],
    ...[0x0d, 0, END],
    ...[...get(SUM), END],
  ];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...number(content.length), ...content];
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)];
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const code = body();
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 5, I32, I32, I32, I32, F32, 1, F32]),
    ...section(2, [1, ...name('it'), ...name('memory'), 2, 0, 0]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name('reach'), 0, 0]),
    ...section(10, [1, ...number(code.length), ...code]),
  ]);
}

let compiled: object | undefined;

/** With a memory of its own, of at least so many bytes. */
export function newKernel(bytes: number): Kernel {
  compiled ??= new WebAssembly.Module(moduleBytes());
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) });
  return { memory, reach: new WebAssembly.Instance(compiled, { it: { memory } }).exports['reach'] as Reach };
}
