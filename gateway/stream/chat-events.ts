/** Reads streams in OpenAI's form: chat completion chunks and text completion chunks. */
import { GatewayError } from '../errors.ts';
import type { Json, Provider, Usage } from '../providers/provider.ts';
import type { RawEvent } from './event-lines.ts';
import type { EventReader } from './pass-through.ts';
import { asUsage } from './usage.ts';

const USAGE = Buffer.from('"usage":');
const NO_CHOICES = Buffer.from('"choices":[]');
const FINISH = Buffer.from('"finish_reason":"');
const MODEL = /"model"\s*:\s*"((?:[^"\\]|\\.){1,256})"/;
const ERROR_HEAD = '{"error"';

export class ChatEvents implements EventReader {
  finished = false;
  usage: Usage | undefined;
  model: string | undefined;
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
    if (data[0] === 91) {
      this.finished = true;
      return true;
    }
    if (data[2] === 101 && data.toString('latin1', 0, ERROR_HEAD.length) === ERROR_HEAD) throw this.problem(data);
    this.model ??= MODEL.exec(data.toString('latin1', 0, 512))?.[1];
    if (data.indexOf(FINISH) !== -1) this.noteFinish(data);
    return data.indexOf(USAGE) === -1 || this.readUsage(data);
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
  private readUsage(data: Buffer): boolean {
    const usage = asUsage(parsed(data)?.['usage']);
    if (usage === undefined) return true;
    this.usage = usage;
    return this.keepUsage || data.indexOf(NO_CHOICES) === -1;
  }

  private problem(data: Buffer): GatewayError {
    const problem = this.provider.readProblem(parsed(data));
    const message = problem?.message ?? `${this.provider.name} reported an error in its stream.`;
    return new GatewayError('upstream_error', message, { provider: this.provider.name });
  }
}

function parsed(data: Buffer): Json | undefined {
  try {
    return JSON.parse(data.toString('utf8')) as Json;
  } catch {
    return undefined;
  }
}
