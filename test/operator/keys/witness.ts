/** Looks at a cluster from a caller's side: what the Secret says must work at every gateway, and what has ended must not. */
import { expect } from 'vitest';
import { SECRETS } from '#crds/api/api-object.ts';
import type { KeyRecord } from '#crds/snapshot/contract.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { dataOf, digestOf } from '../faults/outcome.ts';
import type { PretendGateway } from '../faults/pretend-gateway.ts';
import type { Stage } from '../faults/stage.ts';
import { custom } from '../faults/workload.ts';

export const KEY = 'team-a/app';
export const MINUTE_MS = 60_000;
export const TRANSITION_MS = 30 * MINUTE_MS;
const SECRET = 'app-api-key';

/** The Secret of `KEY`, decoded; {}: there is none. */
export function valuesIn(stage: Stage): Readonly<Record<string, string>> {
  const data = dataOf(stage.server.get(SECRETS, 'team-a', SECRET));
  return Object.fromEntries(Object.entries(data).map(([field, value]) => [field, plain(value)]));
}

/** As somebody with rights would; '' takes a field away. */
export function editSecret({ server }: Stage, changes: Readonly<Record<string, string>>): void {
  const data = Object.entries(changes).map(([field, value]) => [
    field,
    value === '' ? null : Buffer.from(value).toString('base64'),
  ]);
  server.patch(SECRETS, 'team-a', SECRET, { data: Object.fromEntries(data) });
}

/** Asks for a rotation, as `kubectl annotate` does. */
export function annotate({ server }: Stage, word: string, spec: object = {}): void {
  const annotations = { 'modelgateway.dev/rotate': word };
  server.apply(custom('ApiKey', KEY, { type: 'workspace-service', ...spec }, { annotations }));
}

export function fieldsOf(stage: Stage): Readonly<Record<string, unknown>> {
  const object = stage.server.find(
    { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'ApiKey', plural: 'apikeys' },
    'team-a',
    'app',
  );
  const { conditions: _, observedGeneration: __, ...fields } = Object(object['status']);
  return fields;
}

/** Of `KEY`, as a gateway serves them. */
export function recordsAt(gateway: PretendGateway): readonly KeyRecord[] {
  return gateway.served?.snapshot.keys.filter(({ namespace, name }) => `${namespace}/${name}` === KEY) ?? [];
}

export function works(gateway: PretendGateway, key: string): boolean {
  const record = recordsAt(gateway).find(({ digest }) => digest === digestOf(key));
  return record !== undefined && !record.disabled && Date.now() < (record.expires_at_ms ?? Number.POSITIVE_INFINITY);
}

/** Every key that the Secret ever said was the present one, with what became of it. */
export class Witness {
  readonly keys: string[] = [];
  readonly #stage: Stage;
  readonly #gaps: string[] = [];
  /** By key: Unix milliseconds until when it must work. */
  readonly #ends = new Map<string, number>();

  /** From the moment on at which all gateways serve the first key. */
  constructor(stage: Stage) {
    this.#stage = stage;
    this.#look();
    stage.server.onWrite(({ resource, name }) => {
      if (resource === 'secrets' && name === SECRET) this.#look();
    });
  }

  /** What should never have been. */
  get gaps(): readonly string[] {
    return this.#gaps;
  }

  /** Passes time, and looks all along. */
  async pass(ms: number, stepMs = 250): Promise<void> {
    for (let gone = 0; gone < ms; gone += stepMs) {
      await pass(Math.min(stepMs, ms - gone));
      this.#look();
    }
    expect(this.#gaps).toEqual([]);
  }

  /** Until the Secret holds so many keys one after the other, without a transition under way. */
  async until(count: number): Promise<void> {
    for (let step = 0; step < 400 && this.keys.length < count; step++) await this.pass(250);
    expect(this.keys).toHaveLength(count);
  }

  #look(): void {
    const { api_key: current = '', previous_expires_at: until = '' } = valuesIn(this.#stage);
    const last = this.keys.at(-1);
    if (last !== current) {
      // No more than two work at a time.
      this.#ends.clear();
      if (last !== undefined) this.#ends.set(last, Date.parse(until));
      this.keys.push(current);
    }
    for (const gateway of this.#stage.gateways) {
      if (gateway.served === undefined) continue;
      if (!works(gateway, current)) this.#complain(gateway, 'refuses the present key');
      for (const [key, endMs] of this.#ends) {
        if (Date.now() < endMs && !works(gateway, key)) this.#complain(gateway, 'refuses a former key before its end');
      }
    }
  }

  #complain({ name }: PretendGateway, what: string): void {
    this.#gaps.push(`${new Date().toISOString()} ${name} ${what}, number ${this.keys.length - 1}`);
  }
}

function plain(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
