/** All limits of a snapshot, found by who asks: what can never be about a request costs it nothing. */
import type { Concurrency } from '#crds/limits/concurrency.ts';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import type { Caller } from '../exchange.ts';
import type { PromptUse } from '../prompts/ready-prompt.ts';
import { pinnedWords } from './condition-test.ts';
import { ASKER_WORDS, type Asker, PLACE_WORDS, type Place } from './facts.ts';
import type { LimitRecord } from './group.ts';
import { isOfTargets, Limit, type Seat } from './limit.ts';

const EVERY_WORKSPACE = '*';
const NOTHING: readonly LimitRecord[] = [];

/** Records by the words that a condition pins them to, and those that it leaves open. */
class Shelf {
  private readonly pinned = new Map<string, LimitRecord[]>();
  private readonly open: LimitRecord[] = [];

  add(record: LimitRecord, words: readonly string[] | undefined): void {
    if (words === undefined) this.open.push(record);
    for (const word of words ?? []) {
      const records = this.pinned.get(word);
      if (records === undefined) this.pinned.set(word, [record]);
      else records.push(record);
    }
  }

  /** Each once. */
  of(words: readonly string[]): Iterable<LimitRecord> {
    const found = words.map((word) => this.pinned.get(word) ?? NOTHING).filter((records) => records.length > 0);
    return found.length === 0 ? this.open : new Set([...this.open, ...found.flat()]);
  }
}

/** The limits that can be about the requests of one asker. */
export class AskerLimits {
  /** Those that depend on the request alone. */
  readonly seats: readonly Seat[];
  readonly hasPlaces: boolean;
  private readonly book: LimitBook;
  private readonly asker: Asker;
  private readonly places = new Map<string, readonly Seat[]>();

  constructor(book: LimitBook, asker: Asker, seats: readonly Seat[], hasPlaces: boolean) {
    this.book = book;
    this.asker = asker;
    this.seats = seats;
    this.hasPlaces = hasPlaces;
  }

  /** Those that depend on where a request goes. */
  at(place: Place): readonly Seat[] {
    const name = place.integration ?? place.provider;
    const known = this.places.get(name);
    if (known !== undefined) return known;
    const { provider, integration } = place;
    const seats = this.book.seatsAt(this.asker, { provider, integration });
    this.places.set(name, seats);
    return seats;
  }
}

export class LimitBook {
  private readonly limits = new Map<LimitRecord, Limit>();
  private readonly byKey = new Map<string, Shelf>();
  private readonly byIntegration = new Shelf();
  private readonly known = new Map<Caller, Map<string, Map<string | undefined, AskerLimits>>>();
  private readonly caps: ReadonlyMap<string, Concurrency>;
  private readonly hasPlaces: boolean;

  constructor({
    rate_limits,
    usage_limits,
    integrations,
  }: Pick<Snapshot, 'rate_limits' | 'usage_limits' | 'integrations'>) {
    let hasPlaces = false;
    for (const record of [...rate_limits, ...usage_limits]) {
      if (isOfTargets(record)) {
        hasPlaces = true;
        this.byIntegration.add(record, pinnedWords(record.conditions, 'virtual_key'));
      } else this.shelf(record.workspace).add(record, pinnedWords(record.conditions, 'api_key'));
    }
    this.hasPlaces = hasPlaces;
    this.caps = new Map(
      integrations.flatMap(({ namespace, name, concurrency }) =>
        concurrency === undefined ? [] : [[`${namespace}/${name}`, concurrency]],
      ),
    );
  }

  /** Whether some Integration bounds its requests in flight. */
  get hasCaps(): boolean {
    return this.caps.size > 0;
  }

  /** Of an Integration, by `namespace/name`. */
  capOf(integration: string | undefined): Concurrency | undefined {
    return integration === undefined ? undefined : this.caps.get(integration);
  }

  of(caller: Caller, endpointType: string, config: string | undefined, prompt?: PromptUse): AskerLimits {
    const known = this.known.get(caller)?.get(endpointType)?.get(madeOf(config, prompt));
    return known ?? this.find({ caller, endpointType, config, prompt });
  }

  /** @internal */
  seatsAt(asker: Asker, place: Place): readonly Seat[] {
    const records = [...this.byIntegration.of(PLACE_WORDS.get('virtual_key')?.(place) ?? [])];
    const { namespace } = asker.caller;
    const own = records.filter(({ workspace }) => workspace === EVERY_WORKSPACE || workspace === namespace);
    return this.seatsOf(own, asker, place);
  }

  private find(asker: Asker): AskerLimits {
    const words = ASKER_WORDS.get('api_key')?.(asker) ?? [];
    const shelves = [asker.caller.namespace, EVERY_WORKSPACE].flatMap((workspace) => this.byKey.get(workspace) ?? []);
    const seats = shelves.flatMap((shelf) => this.seatsOf(shelf.of(words), asker));
    const limits = new AskerLimits(this, asker, seats, this.hasPlaces);
    const { caller, endpointType, config, prompt } = asker;
    const byType = entryOf(this.known, caller, () => new Map<string, Map<string | undefined, AskerLimits>>());
    entryOf(byType, endpointType, () => new Map<string | undefined, AskerLimits>()).set(madeOf(config, prompt), limits);
    return limits;
  }

  private seatsOf(records: Iterable<LimitRecord>, asker: Asker, place?: Place): readonly Seat[] {
    return [...records].flatMap((record) => this.limitOf(record).seat(asker, place) ?? []);
  }

  /** Made when first needed: of ten thousand keys with limits of their own few call in a moment. */
  private limitOf(record: LimitRecord): Limit {
    return entryOf(this.limits, record, () => new Limit(record));
  }

  private shelf(workspace: string): Shelf {
    return entryOf(this.byKey, workspace, () => new Shelf());
  }
}

/** No name has a space. */
function madeOf(config: string | undefined, prompt: PromptUse | undefined): string | undefined {
  return prompt === undefined ? config : `${config ?? ''} ${prompt.namespace}/${prompt.name}`;
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
