/** Reads streams in OpenAI's form: chat completion chunks and text completion chunks. */
import { GatewayError } from '../errors.ts';
import type { Json, Provider, Usage } from '../providers/provider.ts';
import type { RawEvent } from './event-lines.ts';
import type { EventReader } from './pass-through.ts';
import { asUsage } from './usage.ts';

const USAGE = /"usage"\s*:\s*\{/;
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
const FINISH = /"finish_reason"\s*:\s*"/;
const MODEL = /"model"\s*:\s*"((?:[^"\\]|\\.){1,256})"/;
const ERROR = /^\{\s*"error"\s*:\s*[{"]/;
const OPEN_ARRAY = 91;

/** A finished choice and usage, in the two usual ways to write JSON: from their first underscore on. */
const SIGNS = {
  compact: ['_reason":"', '_tokens"'],
  spaced: ['_reason": "', '_tokens"'],
} as const;

export class ChatEvents implements EventReader {
  finished = false;
  usage: Usage | undefined;
  model: string | undefined;
  signs: readonly string[] | undefined;
  readonly contentEvent = undefined;
  readonly endMarker = 'data: [DONE]\n\n';
  private readonly provider: Provider;
  private readonly keepUsage: boolean;
  private readonly choices: number;
  private readonly finishedChoices = new Set<number>();

  /** `keepUsage`: the caller asked for the usage chunk. `choices`: how many were asked for (`n`). */
  constructor(provider: Provider, keepUsage: boolean, choices: number) {
    this.provider = provider;
    this.keepUsage = keepUsage;
    this.choices = choices;
  }

  read(_event: RawEvent, data: Buffer): boolean {
    if (data[0] === OPEN_ARRAY) {
      this.finished = true;
      return true;
    }
    const text = data.toString('latin1');
    if (ERROR.test(text)) throw this.problem(data);
    this.model ??= MODEL.exec(text)?.[1];
    this.signs ??= signsOf(text);
    if (FINISH.test(text)) this.noteFinish(data);
    return !USAGE.test(text) || this.readUsage(data, text);
  }

  mayEnd(): boolean {
    return this.finishedChoices.size >= this.choices;
  }

  private noteFinish(data: Buffer): void {
    const choices = parsed(data)?.['choices'];
    if (!Array.isArray(choices)) return;
    for (const choice of choices as Json[]) {
      if (typeof choice?.['finish_reason'] === 'string') this.finishedChoices.add(Number(choice['index'] ?? 0));
    }
  }

  /** False for the chunk that carries usage alone, when the caller did not ask for it. */
  private readUsage(data: Buffer, text: string): boolean {
    const usage = asUsage(parsed(data)?.['usage']);
    if (usage === undefined) return true;
    this.usage = usage;
    return this.keepUsage || !NO_CHOICES.test(text);
  }

  private problem(data: Buffer): GatewayError {
    const problem = this.provider.readProblem(parsed(data));
    const message = problem?.message ?? `${this.provider.name} reported an error in its stream.`;
    return new GatewayError('upstream_error', message, { provider: this.provider.name });
  }
}

/** A serializer writes all events of a stream alike; where its way is not known, every event is looked into. */
function signsOf(text: string): readonly string[] | undefined {
  if (text.includes('"choices":[')) return SIGNS.compact;
  return text.includes('"choices": [') ? SIGNS.spaced : undefined;
}

function parsed(data: Buffer): Json | undefined {
  try {
    return JSON.parse(data.toString('utf8')) as Json;
  } catch {
    return undefined;
  }
}
