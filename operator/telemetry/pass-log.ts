/** What is logged of passes: publications, and objects that are not in order. */
import type { Log } from '#crds/command/log.ts';
import type { LineLevel, LogFields } from '#crds/command/log-text.ts';
import { conditionOf, type ObjectStatus } from '../compile/status.ts';
import type { Pass } from '../loop.ts';
import { identityOf } from '../world.ts';

/** Of one pass; what there is beyond is counted. */
const MAX_LINES = 50;

interface Line {
  readonly level: LineLevel;
  readonly message: string;
  readonly fields: LogFields;
}

interface Trouble {
  readonly reason: string;
  readonly message: string;
}

export class PassLog {
  readonly #log: Pick<Log, 'event'>;
  #troubles: ReadonlyMap<string, Trouble> = new Map();
  #failures: readonly string[] = [];
  #generation = 0;

  constructor(log: Pick<Log, 'event'>) {
    this.#log = log;
  }

  /** Lines for what is other than at the last pass. */
  pass(pass: Pass): void {
    const troubles = troublesOf(pass.statuses);
    const lines = [...this.#publication(pass), ...this.#changes(troubles, pass.statuses), ...this.#newFailures(pass)];
    this.#troubles = troubles;
    this.#failures = pass.writeFailures;
    this.#generation = pass.generation;
    for (const { level, message, fields } of lines.slice(0, MAX_LINES)) this.#log.event(level, message, fields);
    if (lines.length > MAX_LINES)
      this.#log.event('warn', 'more changes than are logged', { more: lines.length - MAX_LINES });
  }

  *#publication({ generation, statuses, tookMs }: Pass): Generator<Line> {
    if (generation === this.#generation) return;
    const fields = { generation, objects: statuses.length, duration_ms: Math.round(tookMs) };
    yield { level: 'info', message: 'snapshot published', fields };
  }

  *#changes(troubles: ReadonlyMap<string, Trouble>, statuses: Pass['statuses']): Generator<Line> {
    for (const [object, { reason, message }] of troubles) {
      const before = this.#troubles.get(object);
      if (before?.reason === reason && before.message === message) continue;
      yield { level: 'warn', message: 'object not in order', fields: { object, reason, message } };
    }
    const solved = [...this.#troubles.keys()].filter((object) => !troubles.has(object));
    if (solved.length === 0) return;
    const known = new Set(statuses.map(identityOf));
    for (const object of solved) {
      yield { level: 'info', message: known.has(object) ? 'object in order' : 'object removed', fields: { object } };
    }
  }

  *#newFailures({ writeFailures }: Pass): Generator<Line> {
    for (const failure of writeFailures) {
      if (!this.#failures.includes(failure)) yield { level: 'error', message: 'not written', fields: { failure } };
    }
  }
}

/** Objects that their owner must mend, and what the gateways refuse. */
function troublesOf(statuses: readonly ObjectStatus[]): ReadonlyMap<string, Trouble> {
  const troubles = new Map<string, Trouble>();
  for (const status of statuses) {
    const trouble = troubleOf(status);
    if (trouble !== undefined) troubles.set(identityOf(status), trouble);
  }
  return troubles;
}

function troubleOf(status: ObjectStatus): Trouble | undefined {
  const [accepted, resolved, programmed] = (['Accepted', 'ResolvedRefs', 'Programmed'] as const).map((type) =>
    conditionOf(status, type),
  );
  const failing = [accepted, resolved].find((condition) => condition?.status === 'False');
  return failing ?? (programmed?.reason === 'RefusedByGateway' ? programmed : undefined);
}
