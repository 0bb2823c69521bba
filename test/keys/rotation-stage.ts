/** Three gateways that serve what one loop publishes, each a little later than the one before, and Secrets on disk. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { CATALOG } from '#gateway/catalog.ts';
import { type Gateway, startGateway } from '#gateway/server.ts';
import { newKey } from '#operator/compile/new-key.ts';
import { KeyRotation } from '#operator/keys/key-rotation.ts';
import { type Loop, type Publication, type Sink, startLoop } from '#operator/loop.ts';
import type { Replica } from '#operator/replicas/replica.ts';
import { openDirectory } from '#operator/source/directory/directory.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';

const COUNT = 3;
/** From one gateway to the next. */
const LAG_MS = 25;

export interface RotationStage {
  readonly gateways: readonly Gateway[];
  readonly faults: string[];
  /** Writes the manifests; `word` asks for a rotation. */
  write(word?: string): void;
  /** The Secret of the key, as a caller would read it. */
  secret(): Readonly<Record<string, string>>;
  /** Whether all of them serve these slots of the key, the present one being `present`. */
  serve(...slots: readonly string[]): boolean;
  /** What is due is looked for again, because a clock was set. */
  look(): void;
  close(): Promise<void>;
}

class LaggingSink implements Sink {
  readonly #gateways: readonly Gateway[];
  readonly #onServed: () => void;
  readonly #served: number[] = Array.from({ length: COUNT }, () => 0);
  readonly #slots: string[][] = Array.from({ length: COUNT }, () => []);
  #last: Publication | undefined;

  constructor(gateways: readonly Gateway[], onServed: () => void) {
    this.#gateways = gateways;
    this.#onServed = onServed;
  }

  async publish(snapshot: Snapshot): Promise<Publication> {
    const generation = (this.#last?.generation ?? 0) + 1;
    const encoded = encodeSnapshot(snapshot, generation);
    if (this.#last?.hash === encoded.hash) return { ...this.#last, isNew: false };
    this.#last = { generation, hash: encoded.hash, isNew: true };
    this.#gateways.forEach(async (gateway, at) => {
      await sleep(at * LAG_MS);
      // Another may have overtaken it.
      if (generation < (this.#served[at] ?? 0)) return;
      gateway.load(encoded);
      this.#served[at] = generation;
      this.#slots[at] = snapshot.keys.map(({ slot }) => slot ?? 'present');
      this.#onServed();
    });
    return this.#last;
  }

  replicas(): readonly Replica[] {
    return this.#served.map((generation, at) => ({
      name: `gateway-${at}`,
      address: '',
      reachable: true,
      generation,
      hash: '',
    }));
  }

  /** Of the key, as each gateway serves them. */
  get slots(): readonly (readonly string[])[] {
    return this.#slots;
  }
}

function manifests(word: string | undefined): string {
  const house = {
    kind: 'GatewayConfig',
    metadata: { name: 'house', annotations: { 'modelgateway.dev/default': 'true' } },
    spec: { provider: 'simulator' },
  };
  const annotations = word === undefined ? {} : { 'modelgateway.dev/rotate': word };
  const key = { kind: 'ApiKey', metadata: { name: 'app', annotations }, spec: { type: 'workspace-service' } };
  return [house, key]
    .map((one) => `---\n${JSON.stringify({ apiVersion: 'modelgateway.dev/v1alpha1', ...one })}\n`)
    .join('');
}

function secretIn(folder: Folder): Readonly<Record<string, string>> {
  return parse(readFileSync(folder.at('secrets/default/app-api-key.yaml'), 'utf8')).stringData;
}

export async function startRotationStage(): Promise<RotationStage> {
  const folder = makeFolder();
  const write = (word?: string) => folder.write('m/all.yaml', manifests(word));
  write();
  const start = () =>
    startGateway({
      host: '127.0.0.1',
      port: 0,
      adminHost: '127.0.0.1',
      adminPort: 0,
      open: false,
      logLevel: 'silent',
      graceMs: 0,
      drainMs: 10_000,
    });
  const gateways = await Promise.all(Array.from({ length: COUNT }, start));
  const source = await openDirectory({
    manifests: [folder.at('m')],
    secretsDirectory: folder.at('secrets'),
    environment: () => undefined,
    shownFrom: folder.path,
    live: true,
  });
  let loop: Loop | undefined;
  const faults: string[] = [];
  const sink = new LaggingSink(gateways, () => loop?.report());
  const rotation = new KeyRotation({
    source,
    replicas: () => sink.replicas(),
    mayWrite: () => true,
    newKey,
    onFault: ({ message }) => faults.push(message),
  });
  loop = await startLoop({
    source,
    sink,
    settings: { organisationNamespace: 'model-gateway', requestHosts: [] },
    tools: { catalog: CATALOG, newKey },
    mayWrite: () => true,
    kept: [],
    onPass: (pass) => rotation.consider(pass),
    onFault: ({ message }) => faults.push(message),
    onDefect: (error) => faults.push(String(error)),
  });
  return {
    gateways,
    faults,
    write,
    secret: () => secretIn(folder),
    serve: (...slots) => sink.slots.every((served) => served.join() === slots.join()),
    look: () => loop?.report(),
    async close() {
      loop?.close();
      rotation.close();
      await source.close();
      await Promise.all(gateways.map((gateway) => gateway.drain()));
      folder.remove();
    },
  };
}
