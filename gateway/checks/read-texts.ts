/**
 * Reads the texts of a body. The endpoints' shapes have so much in common that one table of fields is enough for OpenAI's
 * chat, completions, embeddings, responses and rerank, and for Anthropic's messages, requests and answers alike.
 */
import { isJson } from '../dialects/json-shape.ts';
import type { Json } from '../providers/provider.ts';
import { CheckError } from './check.ts';
import type { Path } from './rewrite.ts';
import type { Side, SubjectText } from './subject.ts';

interface Place {
  readonly role: string;
  readonly part: SubjectText['part'];
  readonly turn: number;
  readonly repeats: boolean;
}

interface FieldRow {
  readonly role?: string;
  readonly part?: SubjectText['part'];
  /** Each item is a turn of its own. */
  readonly turns?: true;
  /** Stands beside the turns. */
  readonly beside?: true;
  readonly repeats?: true;
}

type Fields = ReadonlyMap<string, FieldRow>;

const fields = (rows: Record<string, FieldRow>): Fields => new Map(Object.entries(rows));

/** Of the body itself. */
const ROOT: Readonly<Record<Side, Fields>> = {
  request: fields({
    system: { role: 'system', beside: true },
    instructions: { role: 'system', beside: true },
    prompt: { role: 'user' },
    tools: { role: 'system', part: 'arguments', beside: true },
    functions: { role: 'system', part: 'arguments', beside: true },
    suffix: { role: 'user' },
    query: { role: 'user' },
    documents: { role: 'user' },
    messages: { role: 'user', turns: true },
    input: { role: 'user', turns: true },
  }),
  response: fields({
    choices: { role: 'assistant', turns: true },
    content: { role: 'assistant' },
    output: { role: 'assistant' },
  }),
};

/** Of everything below it. */
const BELOW: Fields = fields({
  message: {},
  content: {},
  text: {},
  refusal: {},
  output: {},
  tool_calls: {},
  function_call: {},
  function: {},
  custom: {},
  source: {},
  arguments: { part: 'arguments' },
  input: { part: 'arguments' },
  thinking: { part: 'thinking' },
  reasoning: { part: 'thinking' },
  reasoning_content: { part: 'thinking' },
  summary: { part: 'thinking' },
  content_blocks: { repeats: true },
});

/** `source` of a document: `{type: text, data}`. Other data is no text. */
const TEXT_SOURCE = fields({ data: {} });
/** Items of the Responses API whose `content` is thinking. */
const REASONING = 'reasoning';
/** Items of the Responses API that say no role. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ['function_call', 'assistant'],
  ['custom_tool_call', 'assistant'],
  ['reasoning', 'assistant'],
  ['function_call_output', 'tool'],
  ['custom_tool_call_output', 'tool'],
  ['tool_result', 'tool'],
]);

/** Throws CheckError for a prompt of tokens: nobody could read it, so that it may not pass as one that says nothing. */
export function readTexts(body: Json, side: Side): readonly SubjectText[] {
  const texts: SubjectText[] = [];
  for (const [name, row] of ROOT[side]) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    if (side === 'request' && holdsTokens(value))
      throw new CheckError(`Tokens cannot be checked: send ${name} as text.`);
    const start: Place = { role: row.role ?? '', part: row.part ?? 'text', turn: row.beside ? -1 : 0, repeats: false };
    if ((row.turns || row.part) && Array.isArray(value)) readItems(value, [name], start, row.turns === true, texts);
    else read(value, [name], start, texts);
  }
  return texts;
}

function holdsTokens(value: unknown): boolean {
  return (
    Array.isArray(value) && value.some((item) => typeof item === 'number' || (Array.isArray(item) && item.length > 0))
  );
}

/** Plain texts in a list are one message together; objects may be one each. */
function readItems(items: readonly unknown[], path: Path, start: Place, turns: boolean, texts: SubjectText[]): void {
  items.forEach((item, index) => {
    read(item, [...path, index], turns && isJson(item) ? { ...start, turn: index } : start, texts);
  });
}

function read(value: unknown, path: Path, place: Place, texts: SubjectText[]): void {
  if (place.part === 'arguments' && value !== undefined && value !== null) {
    texts.push({ ...place, path, text: plainJson(value), given: value });
  } else if (typeof value === 'string') {
    texts.push({ ...place, path, text: value, given: value });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      read(item, [...path, index], place, texts);
    });
  } else if (isJson(value)) {
    readFields(value, path, placeOf(value, place), texts);
  }
}

function readFields(node: Json, path: Path, place: Place, texts: SubjectText[]): void {
  const isTextSource = path.at(-1) === 'source' && node.type === 'text';
  for (const name of Object.keys(node)) {
    const row = isTextSource ? TEXT_SOURCE.get(name) : BELOW.get(name);
    if (row === undefined) continue;
    const part = row.part ?? place.part;
    read(node[name], [...path, name], { ...place, part, repeats: place.repeats || row.repeats === true }, texts);
  }
}

function placeOf(node: Json, place: Place): Place {
  const role = typeof node.role === 'string' ? node.role : ROLES.get(node.type);
  const part = node.type === REASONING ? 'thinking' : place.part;
  return role === undefined && part === place.part ? place : { ...place, part, role: role ?? place.role };
}

function plainJson(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (!value.includes('\\')) return value;
  try {
    return JSON.stringify(JSON.parse(value));
  } catch {
    return value;
  }
}
