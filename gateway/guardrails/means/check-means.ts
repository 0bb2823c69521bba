/** What checks reach the world with. Calls go through the one place that opens sockets, models through our own routes. */
import { DEFAULT_KEY_PREFIX } from '#crds/keys/key-form.ts';
import type {
  CheckMeans,
  Completion,
  Download,
  Downloaded,
  Moderation,
  RemoteCall,
  RemoteReply,
} from '../../checks/means.ts';
import type { GatewayState } from '../../gateway-state.ts';
import { integrationUpstream } from '../../plan/integration-upstream.ts';
import type { Json } from '../../providers/provider.ts';
import type { ActiveSnapshot } from '../../snapshot/active-snapshot.ts';
import { asking } from '../asking.ts';
import type { MeansOf } from '../guard-book.ts';
import { completeInside } from './inner-exchange.ts';
import { isReachable, resolves } from './reachable.ts';
import { RemoteCalls } from './remote-calls.ts';

const MAX_REPLY_BYTES = 4 * 1024 * 1024;
const DOWNLOAD_MS = 60_000;
const MODERATIONS = '/moderations';
const ITS_OWN = { customHost: undefined, byRequest: false };

/** One object per namespace and author, for as long as the gateway lives. `gateway` is asked once there is one. */
export function checkMeansOf(gateway: () => GatewayState): MeansOf {
  const known = new Map<string, CheckMeans>();
  let calls: RemoteCalls | undefined;
  const callsOf = (): RemoteCalls => {
    calls ??= new RemoteCalls(gateway().connections);
    return calls;
  };
  return (namespace, byRequest) => {
    const name = `${namespace} ${byRequest}`;
    const means = known.get(name) ?? new GatewayMeans(gateway, callsOf, namespace, byRequest);
    known.set(name, means);
    return means;
  };
}

class GatewayMeans implements CheckMeans {
  readonly #gateway: () => GatewayState;
  readonly #calls: () => RemoteCalls;
  readonly #namespace: string;
  readonly #byRequest: boolean;

  constructor(gateway: () => GatewayState, calls: () => RemoteCalls, namespace: string, byRequest: boolean) {
    this.#gateway = gateway;
    this.#calls = calls;
    this.#namespace = namespace;
    this.#byRequest = byRequest;
  }

  get keyPrefix(): string {
    return asking.getStore()?.snapshot.keyPrefix ?? this.#gateway().snapshot?.keyPrefix ?? DEFAULT_KEY_PREFIX;
  }

  now(): number {
    return Date.now();
  }

  record(fields: Json): void {
    this.#gateway().log.event('info', 'checked', {
      type: 'check',
      trace_id: asking.getStore()?.exchange.trace.traceId,
      ...(fields as Record<string, string | number | boolean | undefined>),
    });
  }

  async call({ method = 'POST', url, headers, body = '', timeoutMs, signal }: RemoteCall): Promise<RemoteReply> {
    const target = new URL(url);
    const listed = this.#byRequest ? this.#listed : undefined;
    if (listed !== undefined) assertReachable(target, listed);
    const request = { method, url: target, headers, body, timeoutMs, maxBytes: MAX_REPLY_BYTES, signal, listed };
    const answer = await this.#calls().call(request);
    if (!answer.complete) throw new Error(`The answer is longer than ${MAX_REPLY_BYTES} bytes.`);
    return { status: answer.status, headers: textsOf(answer.headers), text: answer.bytes.toString('utf8') };
  }

  async download({ url, maxBytes, signal }: Download): Promise<Downloaded> {
    const listed = this.#listed;
    assertReachable(url, listed);
    const request = {
      method: 'GET',
      url,
      headers: { accept: '*/*' },
      body: '',
      timeoutMs: DOWNLOAD_MS,
      maxBytes,
    } as const;
    return this.#calls().call({ ...request, signal, listed });
  }

  resolves(url: URL, signal: AbortSignal): Promise<boolean> {
    return resolves(url, this.#listed, signal);
  }

  async complete({ model, messages, json, timeoutMs, signal }: Completion): Promise<string> {
    const asker = asking.getStore();
    if (asker === undefined) throw new Error('Nobody asks.');
    const call = { namespace: this.#namespace, model, messages, json, timeoutMs, signal };
    return completeInside(asker, call);
  }

  async moderate({ model, input, timeoutMs, signal }: Moderation): Promise<Json> {
    const { slug, name } = partsOf(model);
    const upstream = integrationUpstream(this.#snapshot, this.#namespace, slug, ITS_OWN);
    if (upstream.provider.dialect !== 'openai') throw new Error(`${upstream.provider.name} has no moderation.`);
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    for (let at = 0; at + 1 < upstream.headers.length; at += 2)
      headers[upstream.headers[at] ?? ''] = upstream.headers[at + 1] ?? '';
    const url = new URL(upstream.origin + upstream.pathPrefix + MODERATIONS);
    const body = JSON.stringify({ model: name, input });
    const bounds = { timeoutMs, maxBytes: MAX_REPLY_BYTES, signal, listed: undefined };
    const answer = await this.#calls().call({ method: 'POST', url, headers, body, ...bounds });
    if (answer.status !== 200) throw new Error(`The moderation answered with status ${answer.status}.`);
    return JSON.parse(answer.bytes.toString('utf8')) as Json;
  }

  get #snapshot(): ActiveSnapshot {
    const snapshot = asking.getStore()?.snapshot ?? this.#gateway().snapshot;
    if (snapshot === undefined) throw new Error('No configuration is loaded yet.');
    return snapshot;
  }

  get #listed(): ReadonlySet<string> {
    return this.#snapshot.requestHosts;
  }
}

function assertReachable(url: URL, listed: ReadonlySet<string>): void {
  if (!isReachable(url, listed)) throw new Error('The URL leads to where outsiders may not send this gateway.');
}

function textsOf(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) texts[name] = String(value);
  return texts;
}

/** `@slug/model`. */
function partsOf(model: string): { readonly slug: string; readonly name: string } {
  const slash = model.indexOf('/');
  return { slug: model.slice(1, slash), name: model.slice(slash + 1) };
}
