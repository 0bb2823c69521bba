/** Source -> compile -> sink -> statuses; once at the start, then after every change. */

import type { Snapshot } from '#crds/snapshot/contract.ts';
import { Programmed } from './apply/programmed.ts';
import { type Compiled, type CompileTools, compile } from './compile/compile.ts';
import type { LastGood } from './compile/elect.ts';
import { type ObjectStatus, type StatusFields, withFields } from './compile/status.ts';
import { inParallel } from './in-parallel.ts';
import { KEY_FIELDS } from './keys/key-state.ts';
import type { IssuedKey } from './keys/rotation-step.ts';
import { writeVersions } from './prompts/write-versions.ts';
import type { Replica } from './replicas/replica.ts';
import type { Source } from './source/source.ts';
import { Wakeup } from './wakeup.ts';
import { identityOf, type Manifest, type Observation, type Problem, type WorldSettings } from './world.ts';

/** Where snapshots go, and who serves them. */
export interface Sink {
  /**
   * Makes the snapshot what gateways load; does nothing where it is that already. `accepted`: the version of every object that
   * a later operator may fall back to. Rejects: the next pass tries again.
   */
  publish(snapshot: Snapshot, accepted: LastGood): Promise<Publication>;
  replicas(): readonly Replica[];
}

export interface Publication {
  /** Grows with every change of content. */
  readonly generation: number;
  readonly hash: string;
  /** false: it was published already, perhaps by an operator before this one. */
  readonly isNew: boolean;
}

export interface LoopTools extends CompileTools {
  /** A new random gateway key. */
  readonly newKey: () => string;
}

export interface LoopOptions {
  readonly source: Source;
  readonly sink: Sink;
  readonly settings: WorldSettings;
  readonly tools: LoopTools;
  /** Whether this program may write: false while another one leads. */
  readonly mayWrite: () => boolean;
  /** Accepted versions that another run kept, for objects that are refused now. */
  readonly kept: readonly Manifest[];
  /** Message of a stored condition Programmed=True of exactly this version of the object; undefined: there is none. */
  readonly storedProgrammed?: (status: ObjectStatus) => string | undefined;
  /**
   * What is known of an object besides what is compiled; undefined: nothing. The same object again where it says the same.
   * Asked at each pass and `report()`. Where two know of a name, the later counts.
   */
  readonly fieldsOf?: readonly ((status: ObjectStatus) => StatusFields | undefined)[];
  /** After each pass, the first included, and after each change of what replicas say. */
  readonly onPass: (pass: Pass) => void;
  /** The snapshot could not be published: what was served is served still, and it is tried again. */
  readonly onFault: (error: Error) => void;
  /** A pass threw, which none should: the next change is tried as usual. */
  readonly onDefect: (error: unknown) => void;
  /** From a change to the pass that takes it in. Default 50. */
  readonly delayMs?: number;
}

export interface Pass {
  /** 0: nothing is published yet. */
  readonly generation: number;
  readonly statuses: readonly ObjectStatus[];
  readonly problems: readonly Problem[];
  readonly snapshot: Snapshot;
  /** Whether `snapshot` is what `generation` brought. */
  readonly isPublished: boolean;
  /** Keys that this program made, and that are served. */
  readonly issued: readonly IssuedKey[];
  /** Secrets that could not be written: `Secret ns/name: why`. */
  readonly writeFailures: readonly string[];
  readonly tookMs: number;
}

export interface Loop {
  /** Something other than the source changed: who leads, or what is stored. Compiles anew. */
  wake(): void;
  /** The version of the object that was accepted last; undefined: none. */
  accepted(manifest: Manifest): Manifest | undefined;
  /** Takes over the accepted versions that another run kept. */
  adopt(kept: readonly Manifest[]): void;
  /** What replicas say changed: statuses are told anew, nothing is compiled. */
  report(): void;
  /** Stops following the source, which stays open. */
  close(): void;
}

const DELAY_MS = 50;
/** However often the world changes. */
const PASS_EVERY_MS = 200;
const RETRY = { firstMs: 250, lastMs: 10_000 };
const SECRETS_AT_ONCE = 16;
/** In one pass: what is ready shall not wait for thousands of new keys. */
const SECRETS_MS = 1_000;

/** Resolves after the first pass. */
export async function startLoop(options: LoopOptions): Promise<Loop> {
  const run = new Run(options);
  await run.pass();
  options.source.onChange(() => run.follow());
  return run;
}

class Run implements Loop {
  readonly #options: LoopOptions;
  readonly #programmed: Programmed;
  readonly #wakeup: Wakeup;
  #lastGood: LastGood = new Map();
  #compiled: Compiled | undefined;
  /** What gateways load, as far as this run published it. */
  #published: Snapshot | undefined;
  /** What the last pass compiled. */
  #observed: Observation | undefined;
  /** Also if nothing new is observed. */
  #mustCompile = false;
  #work: Pick<Pass, 'writeFailures' | 'tookMs'> = { writeFailures: [], tookMs: 0 };
  #failures = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
    const { storedProgrammed } = options;
    this.#programmed = new Programmed(storedProgrammed === undefined ? {} : { stored: storedProgrammed });
    this.adopt(options.kept);
    this.#wakeup = new Wakeup(() => this.pass(), {
      delayMs: options.delayMs ?? DELAY_MS,
      everyMs: PASS_EVERY_MS,
      onDefect: options.onDefect,
    });
  }

  follow(): void {
    this.#wakeup.wake();
  }

  wake(): void {
    this.#mustCompile = true;
    this.#wakeup.wake(0);
  }

  report(): void {
    this.#report(this.#work);
  }

  accepted(manifest: Manifest): Manifest | undefined {
    return this.#lastGood.get(identityOf(manifest));
  }

  /** Each counts only for the object of its uid, and only while that is refused. */
  adopt(kept: readonly Manifest[]): void {
    this.#lastGood = new Map([...this.#lastGood, ...kept.map((one) => [identityOf(one), one] as const)]);
  }

  close(): void {
    this.#wakeup.close();
  }

  async pass(): Promise<void> {
    const startedMs = performance.now();
    const observed = this.#options.source.observe();
    if (observed === this.#observed && !this.#mustCompile) return;
    this.#mustCompile = false;
    const first = this.#compile(observed);
    const writeFailures = [...(await this.#writeSecrets(first.lacking)), ...(await this.#writeVersions(first))];
    const latest = this.#options.source.observe();
    const compiled = latest === observed ? first : this.#compile(latest);
    this.#lastGood = compiled.lastGood;
    this.#compiled = compiled;
    const isPublished = await this.#publish(compiled);
    // What came while it was published is yet to be compiled.
    this.#observed = latest;
    if (!isPublished || writeFailures.length > 0 || this.#lacksVersions(compiled)) this.#tryAgain();
    else {
      this.#failures = 0;
      if (compiled.lacking.length > 0 && this.#options.mayWrite()) this.wake();
    }
    this.#report({ writeFailures, tookMs: performance.now() - startedMs });
  }

  #tryAgain(): void {
    this.#mustCompile = true;
    this.#wakeup.wake(Math.min(RETRY.firstMs * 2 ** this.#failures, RETRY.lastMs));
    this.#failures += 1;
  }

  #compile(observed: Observation): Compiled {
    const { settings, tools } = this.#options;
    return compile({ ...observed, settings }, this.#lastGood, tools);
  }

  /** A key is served only once it is stored: a crash in between must not lose a key that somebody was given. */
  async #writeSecrets(lacking: Compiled['lacking']): Promise<readonly string[]> {
    const failures: string[] = [];
    const { source, tools, mayWrite } = this.#options;
    const untilMs = performance.now() + SECRETS_MS;
    await inParallel(lacking, SECRETS_AT_ONCE, async (secret) => {
      if (!mayWrite() || performance.now() > untilMs) return;
      const { notes, ...meant } = secret;
      const created = { [KEY_FIELDS.current]: tools.newKey(), [KEY_FIELDS.createdAt]: new Date().toISOString() };
      await source.writeSecret({ ...meant, values: { ...notes, ...created } }).catch((error: unknown) => {
        failures.push(`Secret ${secret.namespace}/${secret.name}: ${(error as Error).message}`);
      });
    });
    return failures.sort();
  }

  async #writeVersions({ versions }: Compiled): Promise<readonly string[]> {
    const { source, mayWrite } = this.#options;
    return mayWrite() ? writeVersions(versions, source) : [];
  }

  /** The watch may not have told yet of those that were written. */
  #lacksVersions({ versions: { lacking, unmarked } }: Compiled): boolean {
    return this.#options.mayWrite() && lacking.length + unmarked.length > 0;
  }

  /** false: it is to be tried again. */
  async #publish({ snapshot, lastGood }: Compiled): Promise<boolean> {
    const { sink, mayWrite, onFault } = this.#options;
    if (!mayWrite()) return true;
    try {
      this.#programmed.published(await sink.publish(snapshot, lastGood), snapshot);
      this.#published = snapshot;
      return true;
    } catch (error) {
      this.#programmed.notPublished(snapshot, (error as Error).message);
      onFault(error as Error);
      return false;
    }
  }

  #report(work: Pick<Pass, 'writeFailures' | 'tookMs'>): void {
    if (this.#compiled === undefined) return;
    const { snapshot, issued } = this.#compiled;
    const { fieldsOf = [], sink } = this.#options;
    this.#work = work;
    this.#options.onPass({
      ...work,
      generation: this.#programmed.generation,
      statuses: this.#programmed
        .of(this.#compiled, sink.replicas())
        .map((status) => fieldsOf.reduce((filled, ask) => withFields(filled, ask(filled)), status)),
      problems: this.#options.source.observe().problems,
      snapshot,
      isPublished: snapshot === this.#published,
      issued,
    });
  }
}
