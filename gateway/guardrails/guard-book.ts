/** The guardrails of a snapshot, by name, and those that hold without being named. */
import type { GuardrailRecord, Snapshot } from '#crds/snapshot/contract.ts';
import type { CheckMeans } from '../checks/means.ts';
import { brokenGuard, type Guard, guardOfRecord } from './guard.ts';

/** What checks of a namespace reach the world with; the same object again for the same words. `byRequest`: a request wrote the checks. */
export type MeansOf = (namespace: string, byRequest: boolean) => CheckMeans;

export interface SideGuards {
  readonly input: readonly Guard[];
  readonly output: readonly Guard[];
}

const NO_GUARDS: SideGuards = { input: [], output: [] };

/** Most guardrails are the same in the next snapshot: nothing is compiled anew. */
const compiled = new WeakMap<MeansOf, WeakMap<GuardrailRecord, Guard>>();

export class GuardBook {
  readonly meansOf: MeansOf;
  /** By `namespace/name`. */
  readonly #records: ReadonlyMap<string, GuardrailRecord>;
  readonly #organisation: string;
  readonly #forAll: SideGuards;
  readonly #own: ReadonlyMap<string, SideGuards>;
  readonly #known: WeakMap<GuardrailRecord, Guard>;

  /** Throws an Error naming the object whose checks this version does not know: it was accepted by a newer one. */
  constructor(source: Snapshot, meansOf: MeansOf) {
    this.meansOf = meansOf;
    this.#known = compiled.get(meansOf) ?? new WeakMap();
    compiled.set(meansOf, this.#known);
    this.#organisation = source.settings.organisation_namespace;
    this.#records = new Map(source.guardrails.map((record) => [`${record.namespace}/${record.name}`, record]));
    for (const record of source.guardrails) this.#assertWhole(record);
    const annotated = source.guardrails.filter((record) => record.default_for.length > 0);
    this.#forAll = this.#defaultsAmong(annotated, this.#organisation);
    this.#own = this.#ownDefaults(source, annotated);
  }

  /** Whether some request has guardrails that no config names. */
  get hasDefaults(): boolean {
    return this.#own.size > 0 || this.#forAll.input.length + this.#forAll.output.length > 0;
  }

  /** Those of the organisation, then those of the workspace. */
  defaultsOf(namespace: string): SideGuards {
    const own = this.#own.get(namespace) ?? NO_GUARDS;
    return {
      input: [...this.#forAll.input, ...own.input],
      output: [...this.#forAll.output, ...own.output],
    };
  }

  /** As a namespace sees it; one that fails whatever is put to it where there is none. */
  named(namespace: string, name: string): Guard {
    const record = this.#records.get(`${namespace}/${name}`) ?? this.#shared(namespace, name);
    if (record !== undefined) return this.#guard(record);
    return brokenGuard(name, `there is no Guardrail "${name}" in ${namespace}, nor one that is shared with it`);
  }

  #shared(namespace: string, name: string): GuardrailRecord | undefined {
    const record = this.#records.get(`${this.#organisation}/${name}`);
    const isShared = record?.shared_with === '*' || record?.shared_with.includes(namespace) === true;
    return isShared ? record : undefined;
  }

  #guard(record: GuardrailRecord): Guard {
    const known = this.#known.get(record);
    if (known !== undefined) return known;
    const guard = guardOfRecord(record, this.meansOf(record.namespace, false));
    this.#known.set(record, guard);
    return guard;
  }

  #assertWhole(record: GuardrailRecord): void {
    const { broken } = this.#guard(record);
    if (broken !== undefined) throw new Error(`Guardrail ${record.namespace}/${record.name}: ${broken}`);
  }

  #defaultsAmong(annotated: readonly GuardrailRecord[], namespace: string): SideGuards {
    const of = (side: 'input' | 'output') =>
      annotated
        .filter((record) => record.namespace === namespace && record.default_for.includes(side))
        .sort((one, other) => (one.name < other.name ? -1 : 1))
        .map((record) => this.#guard(record));
    return { input: of('input'), output: of('output') };
  }

  #ownDefaults(source: Snapshot, annotated: readonly GuardrailRecord[]): ReadonlyMap<string, SideGuards> {
    const namespaces = new Set(annotated.map(({ namespace }) => namespace).filter((one) => one !== this.#organisation));
    const listed = new Map(source.workspaces.map((record) => [record.name, record]));
    for (const { name, input_guardrails: input, output_guardrails: output } of source.workspaces)
      if (input !== undefined || output !== undefined) namespaces.add(name);
    return new Map(
      [...namespaces].map((namespace) => {
        const { input, output } =
          namespace === this.#organisation ? NO_GUARDS : this.#defaultsAmong(annotated, namespace);
        const { input_guardrails: inputs = [], output_guardrails: outputs = [] } = listed.get(namespace) ?? {};
        const guards = {
          input: [...input, ...inputs.map((name) => this.named(namespace, name))],
          output: [...output, ...outputs.map((name) => this.named(namespace, name))],
        };
        return [namespace, guards];
      }),
    );
  }
}
