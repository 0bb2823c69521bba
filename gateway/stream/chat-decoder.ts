/** An OpenAI-wire stream as hub chunks, for callers of another dialect. */
import { GatewayError } from '../errors.ts';
import type { Json, Provider, ServerSentEvent, StreamDecoder, Usage } from '../providers/provider.ts';
import { asUsage } from './usage.ts';

const DONE = '[DONE]';

export class ChatDecoder implements StreamDecoder {
  usage: Usage | undefined;
  private done = false;
  private stopped = false;
  private readonly provider: Provider;

  constructor(provider: Provider) {
    this.provider = provider;
  }

  /** Its end marker, or a finish reason where a server sends no marker. */
  get finished(): boolean {
    return this.done || this.stopped;
  }

  decode(event: ServerSentEvent): readonly Json[] {
    if (this.done) return [];
    if (event.data === DONE) {
      this.done = true;
      return [];
    }
    const chunk = this.parsed(event.data);
    if (chunk['error'] !== undefined) throw this.problem(chunk);
    this.usage = asUsage(chunk['usage']) ?? this.usage;
    const choices = chunk['choices'];
    if (!Array.isArray(choices)) throw this.invalid('without choices');
    if (choices.some((choice: Json) => typeof choice?.['finish_reason'] === 'string')) this.stopped = true;
    return [chunk];
  }

  private parsed(data: string): Json {
    try {
      const value: unknown = JSON.parse(data);
      if (typeof value === 'object' && value !== null) return value as Json;
    } catch {
      // falls through: both are the same to the caller
    }
    throw this.invalid('that is no JSON object');
  }

  private problem(chunk: Json): GatewayError {
    const message =
      this.provider.readProblem(chunk)?.message ?? `${this.provider.name} reported an error in its stream.`;
    return new GatewayError('upstream_error', message, { provider: this.provider.name });
  }

  private invalid(what: string): GatewayError {
    return new GatewayError('upstream_invalid', `${this.provider.name} sent a stream event ${what}.`, {
      provider: this.provider.name,
    });
  }
}
