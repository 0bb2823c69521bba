/** What a text means, as a vector: asked of the Integration that the installation names. */
import type { EmbeddingModel } from '#crds/command/embedding-model.ts';
import { GatewayError } from '../errors.ts';
import { integrationUpstream } from '../plan/integration-upstream.ts';
import type { Upstream } from '../plan/plan.ts';
import type { ActiveSnapshot } from '../snapshot/active-snapshot.ts';
import { UpstreamCall } from '../upstream/call.ts';
import type { Connections } from '../upstream/connections.ts';
import { Deadline, type Deadlines } from '../upstream/deadlines.ts';
import { UnaryBody } from '../upstream/unary-body.ts';

export interface EmbedderOptions {
  readonly embedding: EmbeddingModel;
  readonly connections: Connections;
  readonly deadlines: Deadlines;
  /** For one text; default 2,000. */
  readonly timeoutMs?: number;
  /** Told of each text that was not embedded. */
  readonly onFault: (error: Error) => void;
}

const TIMEOUT_MS = 2_000;
const HEADERS = ['content-type', 'application/json', 'accept', 'application/json', 'accept-encoding', 'identity'];

export class Embedder {
  /** What vectors of another one cannot be compared with. */
  readonly model: string;
  readonly #options: EmbedderOptions;
  readonly #upstreams = new WeakMap<ActiveSnapshot, Upstream>();

  constructor(options: EmbedderOptions) {
    const { slug, model } = options.embedding;
    this.model = `@${slug}/${model}`;
    this.#options = options;
  }

  /** undefined: it could not be had in time. Never rejected. */
  async embed(text: string, snapshot: ActiveSnapshot): Promise<readonly number[] | undefined> {
    try {
      return vectorOf(await this.#ask(text, this.#upstreamOf(snapshot)));
    } catch (error) {
      this.#options.onFault(error as Error);
      return undefined;
    }
  }

  #upstreamOf(snapshot: ActiveSnapshot): Upstream {
    const known = this.#upstreams.get(snapshot);
    if (known !== undefined) return known;
    const { slug, model } = this.#options.embedding;
    const found = integrationUpstream(snapshot, snapshot.source.settings.organisation_namespace, slug, {
      customHost: undefined,
      byRequest: false,
    });
    const upstream = found.modelHosts?.get(model) ?? found;
    this.#upstreams.set(snapshot, upstream);
    return upstream;
  }

  #ask(text: string, { provider, origin, pathPrefix, headers, listed }: Upstream): Promise<Buffer> {
    const { connections, deadlines, embedding, timeoutMs = TIMEOUT_MS } = this.#options;
    const wire = provider.operations.embed;
    if (wire === undefined) throw new GatewayError('unsupported_operation', `${provider.name} has no embeddings.`);
    const body = JSON.stringify({ model: embedding.model, input: text });
    const request = { path: pathPrefix + wire.path, headers: [...HEADERS, ...headers], body };
    return new Promise((resolve, reject) => {
      const collected = new UnaryBody();
      let status = 0;
      const giveUp = (error: Error): void => {
        deadlines.delete(deadline);
        call.abort();
        reject(error);
      };
      const deadline = new Deadline(performance.now() + timeoutMs, () => giveUp(new Error('timeout')));
      const call = new UpstreamCall(connections, connections.lane(origin, listed), request, provider.name, {
        onHead: (said) => {
          status = said;
        },
        onBytes: (chunk) => {
          try {
            collected.add(chunk, provider.name);
          } catch (error) {
            giveUp(error as Error);
          }
        },
        onEnd: () => {
          deadlines.delete(deadline);
          if (status === 200) resolve(collected.taken());
          else reject(new Error(`status ${status}`));
        },
        onFailure: giveUp,
      });
      deadlines.add(deadline);
      call.start();
    });
  }
}

/** Throws for an answer of another form. */
function vectorOf(answer: Buffer): readonly number[] {
  const { data } = JSON.parse(answer.toString('utf8')) as {
    readonly data?: readonly { readonly embedding?: unknown }[];
  };
  const embedding = data?.[0]?.embedding;
  if (!Array.isArray(embedding) || !embedding.every((value) => typeof value === 'number')) throw new Error('no vector');
  return embedding;
}
