/** `gateway/main.ts` in a process of its own, on directories of its own. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServedConfig } from '#gateway/admin.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { MountedVolume } from '../gateway/feed/mounted-volume.ts';
import { KEY } from '../gateway/feed/versions.ts';
import { atEnd, launchProgram } from '../operator/embedded-process.ts';
import { sleep } from '../operator/folder.ts';

export interface Place {
  readonly volume: MountedVolume;
  readonly folder: string;
  readonly stateDir: string;
}

export function makePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'));
  const volume = new MountedVolume();
  atEnd(() => {
    rmSync(folder, { recursive: true, force: true });
    volume.remove();
  });
  return { volume, folder, stateDir: join(folder, 'state') };
}

/** A file that leads to `server`, with a token. */
export function kubeconfigOf({ folder }: Place, server: string): string {
  const path = join(folder, 'kubeconfig.json');
  const config = {
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'it', user: { token: 'the-token' } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it', namespace: 'gateways' } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** Free ports, no grace and the place's directories, unless `argv` says otherwise. */
export function launchGateway({ volume, stateDir }: Place, argv: readonly string[]) {
  const own = [
    '--host',
    '127.0.0.1',
    '--admin-host',
    '127.0.0.1',
    '--port',
    '0',
    '--admin-port',
    '0',
    '--grace-ms',
    '0',
  ];
  const directories = ['--snapshot-dir', volume.path, '--state-dir', stateDir];
  return launchProgram(['gateway/main.ts', ...own, ...directories, ...argv]);
}

export interface Asked {
  readonly status: number;
  /** Of the snapshot that answered; the body, where it is no answer. */
  readonly word: string;
}

export async function askAt(origin: string, body: object = {}): Promise<Asked> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hello' }], ...body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    word: response.status === 200 ? JSON.parse(text).choices[0].message.content : text,
  };
}

export class GatewayProcess {
  readonly child: ChildProcess;
  /** Resolves with the exit status. */
  readonly ended: Promise<number | null>;
  readonly #text: { readonly out: string; readonly errors: string };
  readonly #place: Place;

  constructor({ child, ended, text }: ReturnType<typeof launchGateway>, place: Place) {
    this.child = child;
    this.ended = ended;
    this.#text = text;
    this.#place = place;
  }

  out(): string {
    return this.#text.out;
  }

  errors(): string {
    return this.#text.errors;
  }

  /** The first line of the log with this message. */
  line(msg: string): Record<string, unknown> | undefined {
    const lines = this.out()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    return lines.find((line) => line['msg'] === msg);
  }

  get origin(): string {
    return String(this.line('listening')?.['api']);
  }

  /** Status of a page. */
  async admin(path: string): Promise<number> {
    return (await fetch(`${this.line('listening')?.['admin']}${path}`)).status;
  }

  async config(): Promise<ServedConfig> {
    return (await (await fetch(`${this.line('listening')?.['admin']}/config`)).json()) as ServedConfig;
  }

  ask(body?: object): Promise<Asked> {
    return askAt(this.origin, body);
  }

  /** Waits until that generation is served; milliseconds that it took. */
  async serves(generation: number, timeoutMs = 10_000): Promise<number> {
    const startedMs = performance.now();
    await waitFor(async () => (await this.config()).generation === generation, `generation ${generation}`, timeoutMs);
    return performance.now() - startedMs;
  }

  /** Waits until that generation is what a restart would find. */
  async kept(generation: number): Promise<void> {
    const index = join(this.#place.stateDir, 'last-good/index');
    const isKept = () => {
      try {
        return readFileSync(index, 'utf8').includes(`"generation":${generation},`);
      } catch {
        return false;
      }
    };
    await waitFor(isKept, `generation ${generation} in the state directory`);
  }
}

export async function startGatewayProcess(place: Place, argv: readonly string[] = []): Promise<GatewayProcess> {
  const launched = launchGateway(place, argv);
  const gateway = new GatewayProcess(launched, place);
  await waitFor(() => gateway.line('listening') !== undefined, 'the line that says where it listens', 15_000);
  return gateway;
}

export interface Load {
  readonly failures: string[];
  readonly words: string[];
  stop(): Promise<void>;
}

/** `width` callers, each asking again `pauseMs` after it was answered. */
export function loadOn(gateway: { ask(): Promise<Asked> }, width: number, pauseMs = 0): Load {
  const [failures, words]: [string[], string[]] = [[], []];
  let isGoing = true;
  const caller = async () => {
    while (isGoing) {
      const { status, word } = await gateway.ask();
      if (status === 200) words.push(word);
      else failures.push(`${status} ${word}`);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  };
  const callers = Promise.all(
    Array.from({ length: width }, () => caller().catch((error: Error) => failures.push(String(error)))),
  );
  return {
    failures,
    words,
    async stop() {
      isGoing = false;
      await callers;
    },
  };
}
