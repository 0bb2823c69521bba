/** The volume that the chart mounts into a gateway, kept by the test in the place of a kubelet. */
import { MountedVolume } from '../gateway/feed/mounted-volume.ts';
import { render } from '../helm/helm.ts';
import { at, podSpecOf } from '../helm/manifest.ts';
import { prefixOf } from '../helm/matrix.ts';
import type { Stage } from './stage.ts';

interface Source {
  readonly name: string;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

interface Stored {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

type Files = Map<string, Uint8Array | string>;

export class ProjectedVolume {
  readonly #stage: Stage;
  readonly #volume = new MountedVolume();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** For `--snapshot-dir`. */
  get path(): string {
    return this.#volume.path;
  }

  /** As the objects are now; `changed` are files that came out otherwise. */
  async mount(changed: Readonly<Record<string, string>> = {}): Promise<void> {
    const { namespace } = this.#stage.release;
    const { items } = JSON.parse(
      await this.#stage.kubectl(['get', 'configmaps,secrets', '-n', namespace, '-o', 'json']),
    );
    const stored = new Map((items as readonly Stored[]).map((object) => [idOf(object.kind, object.metadata), object]));
    const files: Files = new Map();
    for (const [kind, source] of this.#sources()) {
      for (const { key, path } of source.items) {
        const bytes = contentOf(stored.get(idOf(kind, source)), key);
        if (bytes !== undefined) files.set(path, bytes);
      }
    }
    this.#volume.swap(new Map([...files, ...Object.entries(changed)]));
  }

  remove(): void {
    this.#volume.remove();
  }

  /** With the kind of the object that each takes its files from. */
  #sources(): readonly (readonly [string, Source])[] {
    const { release } = this.#stage;
    const { volumes = [] } = podSpecOf(render(release), `${prefixOf(release)}-gateway`);
    const sources = at<Readonly<Record<string, Source>>[]>(
      volumes.find(({ name }) => name === 'snapshot'),
      'projected.sources',
    );
    if (sources === undefined) throw new Error('the chart mounts no snapshot');
    return sources.flatMap((source) => Object.entries(source));
  }
}

/** Sources are called `configMap` and `secret`. */
function idOf(kind: string, { name }: { readonly name: string }): string {
  return `${kind.toLowerCase()} ${name}`;
}

function contentOf(object: Stored | undefined, key: string): Uint8Array | undefined {
  const [text, bytes] = [object?.data?.[key], object?.binaryData?.[key]];
  if (text !== undefined) return Buffer.from(text, object?.kind === 'Secret' ? 'base64' : 'utf8');
  return bytes === undefined ? undefined : Buffer.from(bytes, 'base64');
}
