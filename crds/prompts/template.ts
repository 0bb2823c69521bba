/** Mustache, as prompts use it: the library's syntax, parsed once into a tree that knows nothing of values. */
import mustache from 'mustache';
import { isPartialReference } from './reference.ts';

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  /** No steps: `{{.}}`, the value itself. */
  | { readonly kind: 'value'; readonly steps: readonly string[] }
  | {
      readonly kind: 'section';
      readonly steps: readonly string[];
      readonly inverted: boolean;
      readonly nodes: readonly TemplateNode[];
    }
  /** `indent` stands before each of its lines. */
  | { readonly kind: 'partial'; readonly reference: string; readonly indent: string };

export type Template = readonly TemplateNode[];

/** What is wrong with a template: words that follow the name of its field. */
export class TemplateProblem extends Error {
  override readonly name = 'TemplateProblem';
}

/** Of one text. */
export const MAX_TEMPLATE_CHARS = 262_144;
const MAX_TAG_CHARS = 1_024;
const MAX_SECTIONS = 32;

/** Throws TemplateProblem with the place of the mistake, in characters from the beginning. */
export function parseTemplate(text: string): Template {
  if (text.length > MAX_TEMPLATE_CHARS) throw new TemplateProblem(`must have at most ${MAX_TEMPLATE_CHARS} characters`);
  if (!text.includes('{{')) return text === '' ? [] : [{ kind: 'text', text }];
  assertTags(text);
  return nodesOf(tokensOf(text), 1);
}

/** References of the partials that a template names. */
export function partialsOf(template: Template): readonly string[] {
  return template.flatMap((node) => {
    if (node.kind === 'partial') return [node.reference];
    return node.kind === 'section' ? partialsOf(node.nodes) : [];
  });
}

/** Before the library looks: what it takes long over, and what prompts do not have. */
function assertTags(text: string): void {
  for (let open = text.indexOf('{{'); open !== -1; ) {
    const inside = text.slice(open + 2, open + MAX_TAG_CHARS);
    const first = inside.trimStart()[0];
    if (first === '=')
      throw new TemplateProblem(`changes the delimiters at character ${open}: they are always {{ and }}`);
    const end = first === '{' ? '}}}' : '}}';
    const close = inside.indexOf(end);
    if (close === -1)
      throw new TemplateProblem(
        `has a tag at character ${open} that ends with no ${end} within ${MAX_TAG_CHARS} characters`,
      );
    open = text.indexOf('{{', open + 2 + close + end.length);
  }
}

type Token = readonly [type: string, value: string, start: number, end: number, ...rest: readonly unknown[]];

function tokensOf(text: string): readonly Token[] {
  const writer = new mustache.Writer();
  // Templates come and go; what is parsed lives with its snapshot.
  Object.assign(writer, { templateCache: undefined });
  try {
    return writer.parse(text) as readonly Token[];
  } catch (error) {
    const { message } = error as Error;
    throw new TemplateProblem(
      `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/ at (\d+)$/, ' at character $1'),
    );
  }
}

function nodesOf(tokens: readonly Token[], depth: number): Template {
  return tokens.flatMap((token) => NODES[token[0]]?.(token, depth) ?? []);
}

type ToNode = (token: Token, depth: number) => TemplateNode;

const tagOf: ToNode = ([, name, start]) => ({ kind: 'value', steps: stepsOf(name, start) });
const sectionOf: ToNode = ([type, name, start, , children], depth) => {
  if (depth > MAX_SECTIONS)
    throw new TemplateProblem(`nests sections more than ${MAX_SECTIONS} levels deep at character ${start}`);
  const nodes = nodesOf(children as readonly Token[], depth + 1);
  return { kind: 'section', steps: stepsOf(name, start), inverted: type === '^', nodes };
};

/** Comments give nothing. */
const NODES: Readonly<Record<string, ToNode>> = {
  text: ([, text]) => ({ kind: 'text', text }),
  // Prompts are text: nothing is escaped, however many braces there are.
  name: tagOf,
  '&': tagOf,
  '#': sectionOf,
  '^': sectionOf,
  '>': ([, reference, start, , before, tagIndex, lineHasText]) => {
    if (!isPartialReference(reference))
      throw new TemplateProblem(`names a partial at character ${start} that is neither a name nor name@version`);
    const isFirst = tagIndex === 0 && lineHasText === false;
    return { kind: 'partial', reference, indent: isFirst ? String(before) : '' };
  },
};

function stepsOf(name: string, start: number): readonly string[] {
  if (name === '.') return [];
  const steps = name.split('.');
  if (steps.includes('')) throw new TemplateProblem(`has a tag without a name at character ${start}`);
  return steps;
}

/** As mustache has it: lines of a partial that stands alone begin where its tag does. */
export function indented(text: string, indent: string): string {
  return indent === '' ? text : text.replace(/^(?=.)/gm, indent);
}
