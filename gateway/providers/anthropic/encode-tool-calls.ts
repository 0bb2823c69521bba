/** Calls in an assistant message -> `tool_use` blocks. */
import { isJson, refuse, requireList, requireObject, requireText } from '../../dialects/json-shape.ts';
import type { Json } from '../provider.ts';
import { withCacheControl } from './encode-content.ts';

/** `functionIds` learns the id of a deprecated `function_call`, which has none of its own. */
export function encodeToolCalls(message: Json, path: string, functionIds: Map<string, string>): Json[] {
  const calls = message.tool_calls ?? [];
  const blocks = requireList(calls, `${path}.tool_calls`).map((call, index) =>
    toolUse(call, `${path}.tool_calls[${index}]`),
  );
  if (isJson(message.function_call))
    blocks.push(functionUse(message.function_call, `${path}.function_call`, functionIds));
  return blocks;
}

/** Other makers' ids hold characters that this provider refuses. */
export function toolId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_');
}

function toolUse(value: unknown, path: string): Json {
  const call = requireObject(value, path);
  const { function: called } = call;
  if (!isJson(called)) return refuse(`${path}.function`, 'must be an object: this provider has function tools only');
  const block = namedCall(toolId(requireText(call.id, `${path}.id`)), called, `${path}.function`);
  return withCacheControl(block, call);
}

function functionUse(called: Json, path: string, functionIds: Map<string, string>): Json {
  const name = requireText(called.name, `${path}.name`);
  const id = toolId(`call_${functionIds.size}_${name}_${path}`);
  functionIds.set(name, id);
  return namedCall(id, called, path);
}

function namedCall(id: string, called: Json, path: string): Json {
  const input = parseArguments(called.arguments, `${path}.arguments`);
  return { type: 'tool_use', id, name: requireText(called.name, `${path}.name`), input };
}

function parseArguments(value: unknown, path: string): Json {
  if (value === undefined || value === null) return {};
  const text = requireText(value, path).trim();
  if (text === '') return {};
  const input = tryParse(text);
  return isJson(input) ? input : refuse(path, 'must be a JSON object written as a string');
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
