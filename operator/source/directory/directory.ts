/** Manifests from directories, live: the embedded mode's stand-in for an API server. */
import { relative, resolve } from 'node:path';
import type { Manifest, Observation, SecretObject } from '../../world.ts';
import type { GeneratedObject, GeneratedSecret, Source } from '../source.ts';
import { changeSecretFile } from './change-secret-file.ts';
import { Ledger } from './ledger.ts';
import { annotateObject, writeOwnedObject } from './owned-object.ts';
import { readManifestFile } from './read-file.ts';
import type { Environment } from './read-secret.ts';
import { type Root, scanRoots } from './scan.ts';
import { writeSecretFile } from './secret-file.ts';
import { DirectoryWatch } from './watch.ts';

export interface DirectoryOptions {
  /** Directories or files, absolute; the first takes precedence. */
  readonly manifests: readonly string[];
  /** Where generated Secrets are read and written, absolute; undefined: nowhere. */
  readonly secretsDirectory: string | undefined;
  /** Where the control plane writes objects, absolute; what lies among the manifests takes precedence. Default: nowhere. */
  readonly objectsDirectory?: string | undefined;
  /** What `${env:NAME}` in a Secret refers to. */
  readonly environment: Environment;
  /** Paths are shown relative to this directory where they are below it. */
  readonly shownFrom: string;
  /** false: read once. */
  readonly live: boolean;
}

const SETTLE_MS = 60;
const LOSS_SETTLE_MS = 300;
const RESCAN_MS = 400;
const HINT_MS = 15;
/** Rest per file after a scan before a hint is followed, so that a busy directory costs no more than its share. */
const REST_PER_FILE_MS = 0.2;

export interface DirectorySource extends Source {
  /** Reads what changed. What was written to `trusted` paths is known once it resolves, however young it is. */
  scan(trusted?: ReadonlySet<string> | 'all'): Promise<void>;
}

/** Opens the source after one full read. Files that do not parse are problems of the observation, never errors. */
export async function openDirectory(options: DirectoryOptions): Promise<DirectorySource> {
  const source = new FollowedDirectory(options);
  await source.scan('all');
  return source;
}

class FollowedDirectory implements DirectorySource {
  readonly #options: DirectoryOptions;
  readonly #roots: readonly Root[];
  readonly #ledger: Ledger;
  readonly #watch: DirectoryWatch;
  #observation: Observation = { manifests: [], secrets: [], problems: [] };
  #listener: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> = Promise.resolve();
  #closed = false;
  #gapMs = HINT_MS;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#roots = rootsOf(options);
    this.#watch = new DirectoryWatch(() => this.#schedule(this.#gapMs));
    this.#ledger = new Ledger({
      settleMs: SETTLE_MS,
      lossSettleMs: LOSS_SETTLE_MS,
      show: (path) => this.#show(path),
      read: (file) =>
        readManifestFile(file, {
          file: this.#show(file.path),
          environment: options.environment,
          generated: this.#roots[file.rank]?.generated ?? false,
        }),
    });
  }

  observe(): Observation {
    return this.#observation;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  async writeSecret(secret: GeneratedSecret): Promise<void> {
    const { secretsDirectory } = this.#options;
    if (secretsDirectory === undefined) throw new Error('there is no directory to write Secrets to');
    const path = await writeSecretFile(secretsDirectory, secret);
    await this.scan(new Set([path]));
  }

  async changeSecret(secret: SecretObject, changes: Readonly<Record<string, string | undefined>>): Promise<void> {
    const { secretsDirectory, environment } = this.#options;
    if (secretsDirectory === undefined) throw new Error('there is no directory to write Secrets to');
    const path = await changeSecretFile(secretsDirectory, secret, { changes, environment });
    await this.scan(new Set([path]));
  }

  async writeObject(object: GeneratedObject): Promise<void> {
    const { objectsDirectory } = this.#options;
    if (objectsDirectory === undefined) throw new Error('there is no directory to write objects to');
    const path = await writeOwnedObject(objectsDirectory, object, this.#observation.manifests);
    await this.scan(new Set([path]));
  }

  async annotate(object: Manifest, annotations: Readonly<Record<string, string>>): Promise<void> {
    const { objectsDirectory } = this.#options;
    if (objectsDirectory === undefined) throw new Error('there is no directory to write objects to');
    const path = await annotateObject(objectsDirectory, object, annotations);
    await this.scan(new Set([path]));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#watch.close();
    await this.#running;
  }

  /** Scans once; scans never overlap. */
  scan(trusted: ReadonlySet<string> | 'all' = new Set()): Promise<void> {
    this.#running = this.#running.then(() => this.#scanOnce(trusted));
    return this.#running;
  }

  async #scanOnce(trusted: ReadonlySet<string> | 'all'): Promise<void> {
    if (this.#closed) return;
    const scan = await scanRoots(this.#roots);
    const step = await this.#ledger.step(scan, performance.now(), trusted);
    if (step.changed) this.#observation = this.#ledger.observe();
    this.#gapMs = Math.min(RESCAN_MS, Math.max(HINT_MS, scan.files.size * REST_PER_FILE_MS));
    if (this.#options.live && !this.#closed) {
      this.#watch.follow(scan.directories);
      this.#schedule(Math.min(step.againInMs ?? Number.POSITIVE_INFINITY, RESCAN_MS));
    }
    if (step.changed) this.#listener();
  }

  #schedule(inMs: number): void {
    const dueMs = performance.now() + inMs;
    if (this.#closed || dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#dueMs = Number.POSITIVE_INFINITY;
      void this.scan();
    }, inMs);
  }

  #show(path: string): string {
    const shown = relative(this.#options.shownFrom, path);
    return shown === '' || shown.startsWith('..') ? path : shown;
  }
}

function rootsOf(options: DirectoryOptions): readonly Root[] {
  const roots: Root[] = options.manifests.map((path) => ({ path: resolve(path), optional: false, generated: false }));
  for (const [path, generated] of [
    [options.objectsDirectory, false],
    [options.secretsDirectory, true],
  ] as const) {
    if (path !== undefined) roots.push({ path: resolve(path), optional: true, generated });
  }
  return roots;
}
