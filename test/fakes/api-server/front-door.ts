/** How requests come in and answers go out: late, not at all, or cut off, as it was planned. */
import type { ApiRequest, ApiResponse } from '#crds/api/transport.ts';
import type { Availability } from './availability.ts';
import { Exchange } from './exchange.ts';
import { Failure } from './failure.ts';
import { type RequestFaults, reset } from './request-faults.ts';
import { type Answer, answerTo, failureAnswer, type ServerParts, subjectOf } from './requests.ts';

export interface FrontDoorOptions {
  readonly parts: ServerParts;
  readonly availability: Availability;
  readonly faults: RequestFaults;
  readonly latencyMs: number;
}

interface Decision {
  readonly answer: Answer;
  readonly cutAfterBytes?: number | undefined;
}

export class FrontDoor {
  latencyMs: number;
  readonly #options: FrontDoorOptions;
  readonly #exchanges = new Set<Exchange>();

  constructor(options: FrontDoorOptions) {
    this.#options = options;
    this.latencyMs = options.latencyMs;
  }

  /** Rejects where there is no answer. */
  async serve(who: string, request: ApiRequest): Promise<ApiResponse> {
    const exchange = new Exchange(who, request, (over) => this.#exchanges.delete(over));
    if (!exchange.isOver) this.#exchanges.add(exchange);
    try {
      return await exchange.unlessBroken(this.#respond(exchange));
    } catch (error) {
      exchange.end();
      this.#note(exchange, 0);
      throw error;
    }
  }

  /** Every connection breaks. */
  cutAll(): void {
    for (const exchange of this.#exchanges) exchange.cut(reset());
  }

  async #respond(exchange: Exchange): Promise<ApiResponse> {
    // Whoever gives up on the way leaves nothing done.
    await exchange.unlessBroken(this.#travel());
    const { answer, cutAfterBytes } = await this.#decide(exchange);
    if (cutAfterBytes === 0) throw reset();
    this.#note(exchange, answer.status);
    return exchange.respond(answer, cutAfterBytes);
  }

  async #travel(): Promise<void> {
    if (this.latencyMs > 0) await new Promise<void>((resolve) => setTimeout(resolve, this.latencyMs));
    await this.#options.availability.admit();
  }

  async #decide(exchange: Exchange): Promise<Decision> {
    const { parts, faults } = this.#options;
    try {
      const { delayMs = 0, cutAfterBytes } = await exchange.unlessBroken(faults.meet(exchange));
      const answer = answerTo(parts, exchange.who, exchange.request);
      if (delayMs > 0) await new Promise<void>((resolve) => setTimeout(resolve, delayMs));
      return { answer, cutAfterBytes };
    } catch (error) {
      if (error instanceof Failure) return { answer: failureAnswer(error) };
      throw error;
    }
  }

  #note({ who, request }: Exchange, status: number): void {
    const { table, journal } = this.#options.parts;
    const entry = { who, ...subjectOf(request, table), path: request.path, status, atMs: Date.now() };
    journal.requests.push(entry);
  }
}
