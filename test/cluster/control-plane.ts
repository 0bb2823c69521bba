/** etcd and kube-apiserver on loopback, with what can go wrong with them. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { request } from 'undici';
import { type ClusterAccess, callApi, writeKubeconfig } from './cluster-access.ts';
import { freePorts } from './free-ports.ts';
import { GuardedFolder, GuardedProcess } from './guarded-process.ts';
import type { FoundParts, Part } from './parts.ts';
import { apiServerFlags, etcdFlags, type Ports } from './server-flags.ts';

export interface User {
  readonly name: string;
  readonly token: string;
  readonly groups: readonly string[];
}

export interface ControlPlaneOptions {
  /** Besides the administrator. Service accounts get real tokens at any time; these only here. */
  readonly users?: readonly User[];
  /** false: every watch is answered from etcd, so that a compaction alone makes an old one answer 410. Default true. */
  readonly watchCache?: boolean;
  /** Notes every request in the folder's `audit.log`: a JSON line each, as `audit.k8s.io/v1` Event. Default false. */
  readonly audit?: boolean;
}

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
/** Another process may take a port between the look for it and its use. */
const ATTEMPTS = 3;

/** Rejects with the end of a log where a part does not come up. */
export async function startControlPlane(parts: FoundParts, options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt++) {
    const [port = 0, etcdPort = 0, peerPort = 0] = await freePorts(3);
    const plane = new ControlPlane(parts, { port, etcdPort, peerPort }, options);
    try {
      await plane.start();
      return plane;
    } catch (error) {
      await plane.stop();
      if (attempt === ATTEMPTS || !/address already in use/.test(String(error))) throw error;
    }
  }
}

export class ControlPlane {
  readonly access: ClusterAccess;
  readonly #parts: FoundParts;
  readonly #ports: Ports;
  readonly #options: ControlPlaneOptions;
  readonly #folder: GuardedFolder;
  /** In the order in which they were started. */
  #processes: GuardedProcess[] = [];

  constructor(parts: FoundParts, ports: Ports, options: ControlPlaneOptions) {
    const folder = mkdtempSync(join(tmpdir(), 'model-gateway-cluster-'));
    this.#parts = parts;
    this.#ports = ports;
    this.#options = options;
    this.#folder = new GuardedFolder(folder);
    const adminToken = randomBytes(16).toString('hex');
    const origin = `https://127.0.0.1:${ports.port}`;
    const access = { origin, caFile: join(folder, 'apiserver.crt'), adminToken, folder };
    this.access = { ...access, kubeconfig: writeKubeconfig(access, 'admin', adminToken) };
  }

  /** Called by `startControlPlane`. */
  async start(): Promise<void> {
    this.#writeKeys();
    this.#writeUsers();
    this.#writeAuditPolicy();
    this.run('etcd', etcdFlags({ ...this.#ports, folder: this.#folder.path }));
    await this.startApiServer();
  }

  /** On the port and the data that it had. Resolves when it is ready. */
  async startApiServer(): Promise<void> {
    const { watchCache = true, audit = false } = this.#options;
    this.run('kube-apiserver', apiServerFlags({ ...this.#ports, folder: this.#folder.path, watchCache, audit }));
    await this.until('the API server to be ready', () => this.#isReady());
  }

  /** As if it had crashed: open connections break, new ones are refused. */
  stopApiServer(): Promise<void> {
    return this.#end('kube-apiserver');
  }

  async restartApiServer(): Promise<void> {
    await this.stopApiServer();
    await this.startApiServer();
  }

  /** Connections stay open, and nothing is answered any more. */
  pauseApiServer(): void {
    this.#process('kube-apiserver').signal('SIGSTOP');
  }

  resumeApiServer(): void {
    this.#process('kube-apiserver').signal('SIGCONT');
  }

  /** The API server lives, and can neither read nor write. */
  pauseEtcd(): void {
    this.#process('etcd').signal('SIGSTOP');
  }

  resumeEtcd(): void {
    this.#process('etcd').signal('SIGCONT');
  }

  /**
   * etcd forgets every version but the newest. A list that is continued, or a watch from an older resourceVersion, answers
   * 410 - a watch only with `watchCache: false`, or after `restartApiServer`.
   */
  async compact(): Promise<void> {
    // One more version, of a key that is none of the API server's: it forgets all that came before the newest of its own.
    const { revision } = Object((await this.#etcd('/v3/kv/put', { key: btoa('compacted') })).header);
    await this.#etcd('/v3/kv/compaction', { revision, physical: true });
  }

  /** Starts another part beside them; `stop` ends it. */
  run(part: Part, args: readonly string[]): void {
    const file = this.#parts[part];
    if (file === undefined) throw new Error(`${part} is missing: name it among the needs of the suite`);
    this.#processes.push(new GuardedProcess(part, file, args, join(this.#folder.path, `${part}.log`)));
  }

  /** Polls until it holds. Rejects with the end of its log as soon as a part has ended by itself. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    while (!(await holds())) {
      const ended = this.#processes.find((process) => !process.isRunning);
      if (ended !== undefined) throw new Error(`${ended.name} has ended:\n${ended.logTail()}`);
      if (performance.now() > deadline) {
        const logs = this.#processes.map((process) => `${process.name}:\n${process.logTail()}`).join('\n');
        throw new Error(`waited ${READY_TIMEOUT_MS} ms in vain for ${what}\n${logs}`);
      }
      await setTimeout(POLL_MS);
    }
  }

  /** Process ids, by part. */
  pids(): Readonly<Partial<Record<string, number>>> {
    return Object.fromEntries(this.#processes.map(({ name, pid }) => [name, pid]));
  }

  /** Ends every part and removes the folder. */
  async stop(): Promise<void> {
    const newestFirst = this.#processes.toReversed();
    this.#processes = [];
    for (const process of newestFirst) await process.kill();
    this.#folder.remove();
  }

  #process(name: Part): GuardedProcess {
    const process = this.#processes.find((candidate) => candidate.name === name);
    if (process === undefined) throw new Error(`${name} is not running`);
    return process;
  }

  async #end(name: Part): Promise<void> {
    const process = this.#process(name);
    this.#processes = this.#processes.filter((candidate) => candidate !== process);
    await process.kill();
  }

  /** The namespace `default` comes a moment after the server says that it is ready. */
  async #isReady(): Promise<boolean> {
    try {
      const ready = await callApi(this.access, { path: '/readyz' });
      return (
        ready.status === 200 && (await callApi(this.access, { path: '/api/v1/namespaces/default' })).status === 200
      );
    } catch {
      return false;
    }
  }

  async #etcd(path: string, body: object): Promise<Record<string, unknown>> {
    const url = `http://127.0.0.1:${this.#ports.etcdPort}${path}`;
    const answer = await request(url, { method: 'POST', body: JSON.stringify(body) });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`etcd ${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text);
  }

  #path(name: string): string {
    return join(this.#folder.path, name);
  }

  #writeKeys(): void {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    writeFileSync(this.#path('sa.key'), privateKey, { mode: 0o600 });
    writeFileSync(this.#path('sa.pub'), publicKey);
  }

  #writeAuditPolicy(): void {
    const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };
    writeFileSync(this.#path('audit.json'), JSON.stringify({ ...policy, omitStages: ['RequestReceived'] }));
  }

  #writeUsers(): void {
    const admin = { name: 'admin', token: this.access.adminToken, groups: ['system:masters'] };
    const lines = [admin, ...(this.#options.users ?? [])].map(
      ({ name, token, groups }) => `${token},${name},${name},"${groups.join(',')}"\n`,
    );
    writeFileSync(this.#path('tokens.csv'), lines.join(''), { mode: 0o600 });
  }
}
