/** Values put into templates: own properties alone, nothing called, nothing escaped, and no more than a bounded lot of it. */
import { GatewayError } from '../errors.ts';
import type { Json } from '../providers/provider.ts';
import type { ReadyNode } from './ready-template.ts';

/** Characters of all texts of one prompt together. */
export const MAX_FILLED_CHARS = 1_048_576;
/** Tags, texts and items of sections of one prompt together. */
const MAX_STEPS = 250_000;

/** The values that a tag can see, the nearest last. */
type Scope = readonly unknown[];

/** One request's values, for all templates of a prompt. Throws `prompt_too_large`. */
export class Filling {
  private readonly scope: Scope;
  private chars = 0;
  private steps = 0;

  constructor(variables: Json) {
    this.scope = [variables];
  }

  text(nodes: readonly ReadyNode[]): string {
    return this.fill(nodes, this.scope);
  }

  /** The value itself, of whatever type; undefined: there is none. */
  value(steps: readonly string[]): unknown {
    const value = lookUp(steps, this.scope);
    this.count(typeof value === 'object' ? (JSON.stringify(value) ?? '').length : 0);
    return value ?? undefined;
  }

  private fill(nodes: readonly ReadyNode[], scope: Scope): string {
    let text = '';
    for (const node of nodes) {
      this.steps += 1;
      if (this.steps > MAX_STEPS) throw tooLarge(`has more than ${MAX_STEPS} items`);
      if (node.kind === 'text') text += this.counted(node.text);
      else if (node.kind === 'value') text += this.counted(textOf(lookUp(node.steps, scope)));
      else if (node.kind === 'nodes') text += this.fill(node.nodes, scope);
      else text += this.section(node, scope);
    }
    return text;
  }

  private section(node: Extract<ReadyNode, { kind: 'section' }>, scope: Scope): string {
    const value = lookUp(node.steps, scope);
    const isNothing = !value || (Array.isArray(value) && value.length === 0);
    if (node.inverted) return isNothing ? this.fill(node.nodes, scope) : '';
    if (isNothing) return '';
    if (!Array.isArray(value)) return this.fill(node.nodes, value === true ? scope : [...scope, value]);
    let text = '';
    for (const item of value) {
      this.steps += 1;
      text += this.fill(node.nodes, [...scope, item]);
    }
    return text;
  }

  private counted(text: string): string {
    this.count(text.length);
    return text;
  }

  private count(chars: number): void {
    this.chars += chars;
    if (this.chars > MAX_FILLED_CHARS) throw tooLarge(`has more than ${MAX_FILLED_CHARS} characters`);
  }
}

/** The first name is looked for in the nearest value that has it, the others below what it gave. */
function lookUp([first, ...rest]: readonly string[], scope: Scope): unknown {
  if (first === undefined) return scope.at(-1);
  const holder = scope.findLast((value) => has(value, first));
  return [first, ...rest].reduce<unknown>((value, step) => (has(value, step) ? value[step] : undefined), holder);
}

/** What every object and string has by birth is nobody's variable. */
function has(value: unknown, name: string): value is Json {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function tooLarge(what: string): GatewayError {
  return new GatewayError('prompt_too_large', `The prompt ${what} once it is filled in.`, { param: 'variables' });
}
