/** Tools and how to choose among them. */
import { given, isJson, refuse, requireList, requireObject, requireText } from '../../dialects/json-shape.ts';
import type { Json } from '../provider.ts';
import { withCacheControl } from './encode-content.ts';

/** The provider's own tools have dated types, e.g. `web_search_20250305`; they are passed on. */
const OWN_TOOL = /_\d{8}$/;

/** undefined where there is none, because the provider refuses an empty list. */
export function encodeTools(request: Json): Json[] | undefined {
  const tools = requireList(request.tools ?? [], 'tools').map((tool, index) => encodeTool(tool, `tools[${index}]`));
  const functions = requireList(request.functions ?? [], 'functions').map((value, index) => {
    const path = `functions[${index}]`;
    return encodeFunction(requireObject(value, path), path);
  });
  const all = [...tools, ...functions];
  return all.length === 0 ? undefined : all;
}

function encodeTool(value: unknown, path: string): Json {
  const tool = requireObject(value, path);
  if (tool.type === 'function') {
    return withCacheControl(encodeFunction(requireObject(tool.function, `${path}.function`), `${path}.function`), tool);
  }
  const isOwn = typeof tool.type === 'string' && OWN_TOOL.test(tool.type);
  return isOwn ? tool : refuse(`${path}.type`, 'must be function');
}

function encodeFunction(definition: Json, path: string): Json {
  const tool: Json = {
    name: requireText(definition.name, `${path}.name`),
    input_schema: inputSchema(given(definition.parameters), `${path}.parameters`),
  };
  if (typeof definition.description === 'string') tool.description = definition.description;
  if (definition.strict === true) tool.strict = true;
  return withCacheControl(tool, definition);
}

function inputSchema(parameters: unknown, path: string): Json {
  const schema = requireObject(parameters ?? {}, path);
  return schema.type === undefined ? { type: 'object', properties: {}, ...schema } : schema;
}

const CHOICES: Readonly<Record<string, Json>> = {
  auto: { type: 'auto' },
  none: { type: 'none' },
  required: { type: 'any' },
};

/** undefined without tools: the provider refuses a choice among nothing. */
export function encodeToolChoice(request: Json, tools: readonly Json[] | undefined): Json | undefined {
  if (tools === undefined) return undefined;
  const choice = choiceOf(request);
  const isSerial = request.parallel_tool_calls === false && choice?.type !== 'none';
  return isSerial ? { ...(choice ?? CHOICES.auto), disable_parallel_tool_use: true } : choice;
}

/** Whether the answer must be a tool call: the provider does not think before such a call. */
export function isForced(choice: Json | undefined): boolean {
  return choice?.type === 'any' || choice?.type === 'tool';
}

function choiceOf(request: Json): Json | undefined {
  const choice = given(request.tool_choice);
  if (choice !== undefined) return namedChoice(choice, isJson(choice) ? choice.function : undefined, 'tool_choice');
  const old = given(request.function_call);
  return old === undefined ? undefined : namedChoice(old, old, 'function_call');
}

function namedChoice(choice: unknown, named: unknown, path: string): Json {
  if (typeof choice === 'string' && Object.hasOwn(CHOICES, choice)) return { ...CHOICES[choice] };
  if (isJson(named)) return { type: 'tool', name: requireText(named.name, `${path}.name`) };
  return refuse(path, 'must be auto, none, required or name a function');
}
