/** An OpenAI-wire stream as hub chunks, for callers of another dialect. */
import { GatewayError } from '../errors.ts';
import type { Json, Provider, ServerSentEvent, StreamDecoder, Usage } from '../providers/provider.ts';
import { asUsage } from './usage.ts';

const DONE = '[DONE]';

export class ChatDecoder implements StreamDecoder {
  usage: Usage | undefined;
  finished = false;
  private readonly provider: Provider;
  private readonly choices: number;
  private readonly finishedChoices = new Set<number>();

  /** `choices`: how many were asked for. */
  constructor(provider: Provider, choices: number) {
    this.provider = provider;
    this.choices = choices;
  }

  mayEnd(): boolean {
    return this.finishedChoices.size >= this.choices;
  }

  end(): readonly Json[] {
    return [];
  }

  decode(event: ServerSentEvent): readonly Json[] {
    if (this.finished) return [];
    if (event.data === DONE) {
      this.finished = true;
      return [];
    }
    const chunk = this.parsed(event.data);
    if (chunk['error'] !== undefined && chunk['error'] !== null) throw this.problem(chunk);
    this.usage = asUsage(chunk['usage']) ?? this.usage;
    const choices = chunk['choices'];
    if (!Array.isArray(choices)) throw this.invalid('without choices');
    for (const choice of choices as Json[])
      if (typeof choice?.['finish_reason'] === 'string') this.finishedChoices.add(Number(choice['index'] ?? 0));
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
