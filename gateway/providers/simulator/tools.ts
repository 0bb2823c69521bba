/** Which of the request's tools are called, and with what. */
import type { Json } from '../provider.ts';

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Tool {
  readonly name: string;
  readonly parameters: unknown;
}

const MAX_DEPTH = 8;
const EXAMPLES: Readonly<Record<string, unknown>> = {
  string: 'text',
  number: 1.5,
  integer: 1,
  boolean: true,
  null: null,
  array: [],
};

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value that a JSON schema of the usual shape accepts. */
function exampleOf(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return {};
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (isObject(schema.properties)) {
    const properties = Object.entries(schema.properties);
    return Object.fromEntries(properties.map(([name, value]) => [name, exampleOf(value, depth + 1)]));
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  return EXAMPLES[String(type)] ?? {};
}

function toolsOf(body: Json): Tool[] {
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject) : [];
  return tools
    .map((tool) => tool.function)
    .filter(isObject)
    .map(({ name, parameters }) => ({ name: String(name), parameters }));
}

function chosenOf(body: Json, tools: readonly Tool[], said: string, always: boolean): readonly Tool[] {
  const choice = body.tool_choice;
  if (choice === 'none') return [];
  if (isObject(choice)) {
    const wanted = isObject(choice.function) ? choice.function.name : undefined;
    return tools.filter(({ name }) => name === wanted).slice(0, 1);
  }
  const asked = tools.filter(({ name }) => said.includes(name));
  if (asked.length === 0) return choice === 'required' || always ? tools.slice(0, 1) : [];
  return body.parallel_tool_calls === false ? asked.slice(0, 1) : asked;
}

/**
 * Calls the tools that `said` names, else none; the first one where `tool_choice` is `required` or `always` is set; the one
 * that `tool_choice` names. Arguments are examples of the tool's schema.
 */
export function callTools(body: Json, said: string, always: boolean): readonly ToolCall[] {
  return chosenOf(body, toolsOf(body), said, always).map(({ name, parameters }, index) => ({
    id: `call_${index}_${name}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(exampleOf(parameters)) },
  }));
}
