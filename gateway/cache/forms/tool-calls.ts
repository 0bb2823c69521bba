/** Tool calls, put together from their pieces. */
import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';
import { addText, setOnce } from './added-up.ts';

/** What is said in pieces, by the kind of the call. */
const PARTS = ['function', 'custom'] as const;

export class ToolCalls {
  readonly #calls: Json[] = [];
  readonly #byIndex = new Map<unknown, Json>();

  /** undefined: it cannot be added up. The id of a call that begins with this piece; true: one goes on. */
  add(piece: Json): string | true | undefined {
    const { index = 0, ...said } = piece;
    const known = this.#byIndex.get(index);
    // Some servers give every call the same index; a new id then says that a new call begins.
    if (known !== undefined && (!isId(said['id']) || said['id'] === known['id'])) {
      return goOn(known, said) ? true : undefined;
    }
    if (!isId(said['id'])) return undefined;
    const call: Json = {};
    this.#calls.push(call);
    this.#byIndex.set(index, call);
    return goOn(call, said) ? said['id'] : undefined;
  }

  built(): Json[] {
    return this.#calls;
  }
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '';
}

function goOn(call: Json, piece: Json): boolean {
  return Object.entries(piece).every(([field, value]) => {
    if (value === null || (field !== 'function' && value === call[field]) || value === '') return true;
    const part = PARTS.find((name) => name === field);
    return part === undefined ? setOnce(call, field, value) : addPart(call, part, value);
  });
}

function addPart(call: Json, part: string, piece: unknown): boolean {
  if (!isJson(piece)) return false;
  const known = call[part];
  const whole: Json = isJson(known) ? known : {};
  call[part] = whole;
  return Object.entries(piece).every(([field, value]) => {
    if (value === null) return true;
    // Some servers say the name again with each piece.
    return field === 'name' && whole['name'] === value ? true : addText(whole, field, value);
  });
}
