/** What a caller speaks: OpenAI's chat (the hub itself) or Anthropic's messages. Pure; inputs are never changed. */
import type { GatewayError } from '../errors.ts';
import type { Dialect, Json, Usage } from '../providers/provider.ts';

/** Writes hub chunks as the caller's stream. One instance per stream. */
export interface StreamEncoder {
  /** The bytes, as text, for one hub chunk; '' where the caller's dialect has nothing to say. */
  encode(chunk: Json): string;
  /** What ends a finished stream, e.g. `data: [DONE]\n\n`. Never called after a failure. */
  end(): string;
}

export interface ClientDialect {
  readonly name: Dialect;
  /** The caller's body -> hub request. Throws GatewayError `invalid_value` or `missing_field` naming the field. */
  decodeRequest(body: Json): Json;
  /** Chat completion -> the caller's answer. */
  encodeAnswer(answer: Json): Json;
  encoder(request: Json): StreamEncoder;
  /** The one envelope, in this dialect's form. */
  errorBody(error: GatewayError): Json;
  /** The event that ends a failed stream. */
  errorEvent(error: GatewayError): string;
  /** Usage of a whole answer that passes as bytes, from its text. */
  readUsage(answer: Json): Usage | undefined;
}
