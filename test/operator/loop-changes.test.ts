/** Changes that come while a pass is at work: none is lost, whatever it was doing. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type Loop, type Publication, startLoop } from '#operator/loop.ts';
import type { GeneratedSecret, Source } from '#operator/source/source.ts';
import type { Observation, SecretObject } from '#operator/world.ts';
import { until } from './folder.ts';
import { documents, manifest, TOOLS, worldOf } from './worlds.ts';

const config = (name: string) => manifest('GatewayConfig', 'default', name, { provider: 'simulator' });
const KEY = manifest('ApiKey', 'default', 'k', { type: 'workspace-service' });

/** A source by hand: it observes what it is told to. */
class HandSource implements Source {
  #manifests: Observation['manifests'] = [];
  #secrets: readonly SecretObject[] = [];
  #observation: Observation = { manifests: [], secrets: [], problems: [] };
  #listener: () => void = () => {};

  constructor(text: string) {
    this.#take(text);
  }

  become(text: string): void {
    this.#take(text);
    this.#listener();
  }

  observe(): Observation {
    return this.#observation;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  async writeSecret({ namespace, name, values }: GeneratedSecret): Promise<void> {
    const written = { namespace, name, values: new Map(Object.entries(values)), place: undefined };
    this.#secrets = [...this.#secrets, { ...written, refused: undefined, generated: true }];
    this.#observed();
  }

  async changeSecret(): Promise<void> {
    throw new Error('no test changes a Secret by hand');
  }

  async writeObject(): Promise<void> {
    throw new Error('no test has prompts');
  }

  async annotate(): Promise<void> {
    throw new Error('no test has prompts');
  }

  async close(): Promise<void> {}

  #take(text: string): void {
    this.#manifests = worldOf({ 'a.yaml': text }).manifests;
    this.#observed();
  }

  #observed(): void {
    this.#observation = { manifests: this.#manifests, secrets: this.#secrets, problems: [] };
  }
}

let loop: Loop | undefined;
afterEach(() => loop?.close());

interface Running {
  readonly source: HandSource;
  /** Names of configs that were published, of each pass. */
  readonly published: (readonly string[])[];
  /** Called within the next publication, once. */
  during: () => void;
}

async function run(text: string): Promise<Running> {
  const source = new HandSource(text);
  const running: Running = { source, published: [], during: () => {} };
  const publish = async ({ configs }: Snapshot): Promise<Publication> => {
    const { during } = running;
    running.during = () => {};
    await new Promise((resolve) => setTimeout(resolve, 20));
    during();
    running.published.push(configs.map(({ name }) => name).sort());
    return { generation: running.published.length, hash: '', isNew: true };
  };
  loop = await startLoop({
    source,
    sink: { publish, replicas: () => [] },
    settings: { organisationNamespace: 'model-gateway', requestHosts: [] },
    tools: TOOLS,
    mayWrite: () => true,
    kept: [],
    onPass: () => {},
    onFault: () => {},
    onDefect: () => {},
  });
  return running;
}

describe('what comes while a pass publishes', () => {
  it.each([
    ['alone', config('b')],
    ['after the pass has written a Secret', documents(config('b'), KEY)],
  ])('is taken in by the next pass: %s', async (_when, second) => {
    const running = await run(config('a'));
    running.during = () => running.source.become(documents(second, config('c')));
    running.source.become(second);
    await until(() => running.published.at(-1)?.join() === 'b,c', 3_000);
  });

  it('compiles again where it is told to, though nothing else is observed', async () => {
    const running = await run(config('a'));
    running.during = () => loop?.wake();
    running.source.become(config('b'));
    await until(() => running.published.length >= 3, 3_000);
    expect(running.published.slice(1)).toEqual([['b'], ['b']]);
  });
});
