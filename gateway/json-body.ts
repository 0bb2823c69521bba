/** Bytes of a request -> JSON object. */
import { type JsonProblem, parseJsonObject } from '#crds/http/json-object.ts';
import { GatewayError } from './errors.ts';
import type { Json } from './providers/provider.ts';

const fail = (code: JsonProblem, message: string): GatewayError => new GatewayError(code, message);

/** Throws `invalid_json`, `too_deep` or `too_large`. */
export function parseJsonBody(bytes: Buffer): Json {
  return parseJsonObject(bytes, fail);
}
