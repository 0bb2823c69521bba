/** A limit made ready for requests. */
import { METADATA_PREFIX, TARGET_KEYS } from '#crds/limits/conditions.ts';
import { type ConditionTests, compileConditions } from './condition-test.ts';
import { ASKER_WORDS, type Asker, MODEL, metadataValue, PLACE_WORDS, type Place } from './facts.ts';
import { type Group, Groups, isRate, type LimitRecord } from './group.ts';
import type { Counter } from './store.ts';

type Metadata = Readonly<Record<string, string>>;
type GroupWord = string | ((metadata: Metadata, model: string | undefined) => string | undefined);

/** What a limit counts. */
export type Unit = 'requests' | 'tokens' | 'cost';

const EVERY_WORKSPACE = '*';
const NOWHERE: Place = { provider: '', integration: undefined };

export class Limit {
  readonly record: LimitRecord;
  readonly unit: Unit;
  readonly isRate: boolean;
  /** For a rate: how much a window holds; else undefined. */
  readonly value: number | undefined;
  private readonly tests: ConditionTests;
  private readonly groups: Groups;

  constructor(record: LimitRecord) {
    this.record = record;
    this.unit = record.type;
    this.isRate = isRate(record);
    this.value = isRate(record) ? record.value : undefined;
    this.tests = compileConditions(record.conditions);
    this.groups = new Groups(record);
  }

  /** For requests of `asker`, at `place` where the limit depends on it; undefined: none of them is meant. */
  seat(asker: Asker, place: Place = NOWHERE): Seat | undefined {
    const { tests, record, groups } = this;
    if (!tests.asker.every((holds) => holds(asker)) || !tests.place.every((holds) => holds(place))) return undefined;
    const words = record.group_by.map((key) => this.groupWord(key, asker, place));
    if (!words.every((word) => word !== undefined)) return undefined;
    return new Seat(this, groups, tests, place, words);
  }

  private groupWord(key: string, asker: Asker, place: Place): GroupWord | undefined {
    if (key === MODEL) return (_, model) => model;
    const words = ASKER_WORDS.get(key)?.(asker) ?? PLACE_WORDS.get(key)?.(place);
    if (words === undefined) {
      const name = key.slice(METADATA_PREFIX.length);
      return (metadata) => metadataValue(metadata, name);
    }
    // Names are unique in a workspace only: a limit that is about all of them tells their objects apart.
    return this.record.workspace === EVERY_WORKSPACE ? words.at(-1) : words[0];
  }
}

/** A limit as it holds for one asker (and place): what is left to ask is asked for every request. */
export class Seat {
  readonly limit: Limit;
  private readonly groups: Groups;
  private readonly tests: ConditionTests;
  private readonly place: Place;
  private readonly words: readonly GroupWord[];
  /** Where the group is the same for all requests. */
  private readonly group: Group | undefined;
  private readonly isAlways: boolean;

  constructor(limit: Limit, groups: Groups, tests: ConditionTests, place: Place, words: readonly GroupWord[]) {
    this.limit = limit;
    this.groups = groups;
    this.tests = tests;
    this.place = place;
    this.words = words;
    this.group = words.every((word) => typeof word === 'string') ? groups.of(words) : undefined;
    this.isAlways = tests.metadata.length === 0 && tests.model.length === 0;
  }

  /** Where this request counts; undefined: the limit is not about it. */
  counter(metadata: Metadata, model: string | undefined, nowMs: number): Counter | undefined {
    if (!this.isAlways && !this.holds(metadata, model)) return undefined;
    return (this.group ?? this.groupOf(metadata, model))?.counterAt(nowMs);
  }

  private holds(metadata: Metadata, model: string | undefined): boolean {
    for (const holds of this.tests.metadata) if (!holds(metadata)) return false;
    for (const holds of this.tests.model) if (!holds(this.place, model)) return false;
    return true;
  }

  private groupOf(metadata: Metadata, model: string | undefined): Group | undefined {
    const values: string[] = [];
    for (const word of this.words) {
      const value = typeof word === 'string' ? word : word(metadata, model);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return this.groups.of(values);
  }
}

/** Whether it depends on where the request goes. */
export function isOfTargets({ conditions, group_by: groupBy }: LimitRecord): boolean {
  const keys: readonly string[] = TARGET_KEYS;
  return conditions.some(({ key }) => keys.includes(key)) || groupBy.some((key) => keys.includes(key));
}
