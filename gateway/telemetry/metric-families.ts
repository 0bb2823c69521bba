/**
 * Counters and histograms whose children are found by small integers instead of label objects, and are written in the
 * Prometheus text format only when somebody asks. A lookup costs tens of nanoseconds.
 */
import { dollarsOf } from '../money/exact.ts';

const OTHER = 0;
const MAX_LABEL_CHARS = 128;

/** The values of one label. Bounded: once `size` are known, every new one counts as `other`, and so does an overlong one. */
export class LabelValues {
  readonly #size: number;
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = ['other'];

  /** `size` counts distinct values, `other` included. */
  constructor(size: number) {
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  idOf(value: string): number {
    return this.#ids.get(value) ?? this.#learn(value);
  }

  nameOf(id: number): string {
    return this.#names[id] ?? 'other';
  }

  #learn(value: string): number {
    if (this.#names.length >= this.#size || value.length > MAX_LABEL_CHARS) return OTHER;
    const id = this.#names.push(value) - 1;
    this.#ids.set(value, id);
    return id;
  }
}

export type Labels = Readonly<Record<string, LabelValues>>;

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '"': '\\"' };

/** A label's value between double quotes, as the text format wants it. */
export function labelValue(value: string): string {
  return value.replace(/[\\\n"]/g, (char) => ESCAPES[char] ?? char);
}

/** The first two lines of a metric. */
export function preamble(name: string, type: 'counter' | 'gauge' | 'histogram', help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

/** Children by up to four label ids, packed into one integer. */
class Children<Child> {
  readonly #labels: readonly (readonly [string, LabelValues])[];
  readonly #children = new Map<number, Child>();
  readonly #make: (labels: string) => Child;
  readonly #strides: readonly [number, number, number];

  constructor(labels: Labels, make: (labels: string) => Child) {
    this.#labels = Object.entries(labels);
    this.#make = make;
    const sizes = this.#labels.map(([, values]) => values.size);
    if (sizes.length > 4) throw new RangeError('a metric has at most four labels');
    const [a = 1, b = 1, c = 1] = sizes;
    this.#strides = [a, a * b, a * b * c];
  }

  at(a: number, b: number, c: number, d: number): Child {
    const [first, second, third] = this.#strides;
    const key = a + b * first + c * second + d * third;
    const known = this.#children.get(key);
    if (known !== undefined) return known;
    const made = this.#make(this.#describe([a, b, c, d]));
    this.#children.set(key, made);
    return made;
  }

  values(): IterableIterator<Child> {
    return this.#children.values();
  }

  #describe(ids: readonly number[]): string {
    return this.#labels.map(([name, values], at) => `${name}="${labelValue(values.nameOf(ids[at] ?? 0))}"`).join(',');
  }
}

interface CounterChild {
  readonly labels: string;
  value: number;
}

/** A counter with up to four labels; ids are those of the `LabelValues` in their order. */
export class CounterFamily {
  readonly #name: string;
  readonly #help: string;
  readonly #children: Children<CounterChild>;

  constructor(name: string, help: string, labels: Labels) {
    this.#name = name;
    this.#help = help;
    this.#children = new Children(labels, (text) => ({ labels: text === '' ? '' : `{${text}}`, value: 0 }));
  }

  add(amount: number, a = 0, b = 0, c = 0, d = 0): void {
    this.#children.at(a, b, c, d).value += amount;
  }

  text(): string {
    let text = preamble(this.#name, 'counter', this.#help);
    for (const { labels, value } of this.#children.values()) text += `${this.#name}${labels} ${value}\n`;
    return text;
  }
}

interface MoneyChild {
  readonly labels: string;
  /** Units of 1e-12 US dollars, less than 2^53: sums of them are exact. */
  recent: number;
  earlier: bigint;
}

/** A counter of US dollars that is exact to 1e-12, however much there is. */
export class MoneyFamily {
  readonly #name: string;
  readonly #help: string;
  readonly #children: Children<MoneyChild>;

  constructor(name: string, help: string, labels: Labels) {
    this.#name = name;
    this.#help = help;
    this.#children = new Children(labels, (text) => ({ labels: text, recent: 0, earlier: 0n }));
  }

  /** `amount`: whole units of 1e-12 US dollars. */
  add(amount: number, a = 0, b = 0, c = 0, d = 0): void {
    const child = this.#children.at(a, b, c, d);
    if (child.recent + amount > Number.MAX_SAFE_INTEGER) {
      child.earlier += BigInt(child.recent);
      child.recent = 0;
    }
    child.recent += amount;
  }

  text(): string {
    let text = preamble(this.#name, 'counter', this.#help);
    for (const { labels, recent, earlier } of this.#children.values())
      text += `${this.#name}{${labels}} ${dollarsOf(earlier + BigInt(recent))}\n`;
    return text;
  }
}

interface HistogramChild {
  readonly labels: string;
  /** Observations per bucket, the last is +Inf; then their sum. */
  readonly counts: Float64Array;
}

/** A histogram with up to four labels. Bounds ascend; a value equal to a bound is in its bucket. */
export class HistogramFamily {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #children: Children<HistogramChild>;

  constructor(name: string, help: string, bounds: readonly number[], labels: Labels) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    const slots = bounds.length + 2;
    this.#children = new Children(labels, (text) => ({ labels: text, counts: new Float64Array(slots) }));
  }

  observe(value: number, a = 0, b = 0, c = 0, d = 0): void {
    const { counts } = this.#children.at(a, b, c, d);
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    counts[bounds.length + 1] = (counts[bounds.length + 1] ?? 0) + value;
  }

  text(): string {
    let text = preamble(this.#name, 'histogram', this.#help);
    for (const child of this.#children.values()) text += this.#childText(child);
    return text;
  }

  #childText({ labels, counts }: HistogramChild): string {
    const before = labels === '' ? '' : `${labels},`;
    const braces = labels === '' ? '' : `{${labels}}`;
    let text = '';
    let total = 0;
    for (let bucket = 0; bucket <= this.#bounds.length; bucket++) {
      total += counts[bucket] ?? 0;
      text += `${this.#name}_bucket{${before}le="${this.#bounds[bucket] ?? '+Inf'}"} ${total}\n`;
    }
    text += `${this.#name}_sum${braces} ${counts[this.#bounds.length + 1]}\n`;
    return `${text}${this.#name}_count${braces} ${total}\n`;
  }
}
