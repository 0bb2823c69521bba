/** YAML text -> snapshot, with the operator's own reader and compile; what a test's gateway is fed with. */
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { CATALOG } from '#gateway/catalog.ts';
import { KEY_FIELD } from '#operator/compile/api-key.ts';
import { compile } from '#operator/compile/compile.ts';
import { newKey } from '#operator/compile/new-key.ts';
import { conditionOf, type ObjectStatus } from '#operator/compile/status.ts';
import { parseFile } from '#operator/source/directory/parse-file.ts';
import { readDocument } from '#operator/source/directory/read-document.ts';
import type { Manifest, SecretObject, World, WorldSettings } from '#operator/world.ts';
import { withVersions } from './written-versions.ts';

export interface Pass {
  readonly snapshot: Snapshot;
  readonly statuses: readonly ObjectStatus[];
}

interface ReadText {
  readonly manifests: readonly Manifest[];
  readonly secrets: readonly SecretObject[];
}

const FILE = 'test.yaml';

/** A test's own YAML must be readable: anything else is the test's mistake. */
function readText(yaml: string): ReadText {
  const file = parseFile(FILE, yaml);
  if (!('documents' in file)) throw new Error(`${FILE}:${file.line}: ${file.message}`);
  const manifests: Manifest[] = [];
  const secrets: SecretObject[] = [];
  for (const document of file.documents.filter(({ value }) => value !== null)) {
    const read = readDocument(document, { file: FILE, environment: () => undefined, generated: false });
    if ('problem' in read) throw new Error(`${FILE}:${document.line} ${read.problem.subject}: ${read.problem.message}`);
    if ('manifest' in read) manifests.push(read.manifest);
    else secrets.push(read.secret);
  }
  return { manifests, secrets };
}

/** `Kind namespace/name: Reason: message` for each object that was not accepted, or whose references do not resolve. */
export function complaintsOf(statuses: readonly ObjectStatus[]): string[] {
  return statuses.flatMap((status) =>
    (['Accepted', 'ResolvedRefs'] as const).flatMap((type) => {
      const condition = conditionOf(status, type);
      if (condition?.status !== 'False') return [];
      return [`${status.kind} ${status.namespace}/${status.name}: ${condition.reason}: ${condition.message}`];
    }),
  );
}

/** Remembers what an operator would: last good versions, and the Secrets and versions of prompts that it made. */
export class MemoryWorld {
  readonly #settings: WorldSettings;
  readonly #generated: SecretObject[] = [];
  #lastGood: Parameters<typeof compile>[1] = new Map();
  #versions: readonly Manifest[] = [];
  #secrets: readonly SecretObject[] = [];

  constructor(settings: Partial<WorldSettings> = {}) {
    this.#settings = { organisationNamespace: 'model-gateway', requestHosts: [], ...settings };
  }

  /** Compiles text as the whole world; keys and versions that are missing are made. */
  compile(yaml: string): Pass {
    const { manifests, secrets } = readText(yaml);
    const first = this.#pass(manifests, secrets);
    for (const { namespace, name } of first.lacking) {
      const values = new Map([[KEY_FIELD, newKey()]]);
      this.#generated.push({ namespace, name, values, place: undefined, refused: undefined, generated: true });
    }
    this.#versions = withVersions(this.#versions, first.versions);
    const { lacking, versions } = first;
    const isWhole = lacking.length + versions.lacking.length + versions.unmarked.length === 0;
    const { snapshot, statuses, lastGood } = isWhole ? first : this.#pass(manifests, secrets);
    this.#lastGood = lastGood;
    return { snapshot, statuses };
  }

  #pass(manifests: readonly Manifest[], written: readonly SecretObject[]) {
    this.#secrets = [...written, ...this.#generated];
    const all = [...manifests, ...this.#versions];
    const world: World = { manifests: all, secrets: this.#secrets, problems: [], settings: this.#settings };
    return compile(world, this.#lastGood, { catalog: CATALOG });
  }

  /** The `api_key` of a Secret, written or generated. */
  keyIn(namespace: string, secret: string): string {
    const found = this.#secrets.find((object) => object.namespace === namespace && object.name === secret);
    const key = found?.values.get('api_key');
    if (key === undefined) throw new Error(`There is no Secret ${namespace}/${secret} with an api_key.`);
    return key;
  }
}
