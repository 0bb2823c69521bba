/** Conditions of a limit -> functions, by what they look at. */
import { METADATA_PREFIX } from '#crds/limits/conditions.ts';
import type { RateLimitRecord } from '#crds/snapshot/contract.ts';
import { ASKER_WORDS, type Asker, MODEL, metadataValue, modelWords, PLACE_WORDS, type Place } from './facts.ts';

type Condition = RateLimitRecord['conditions'][number];
type Metadata = Readonly<Record<string, string>>;

const ANY = '*';
const BELOW = '/*';

/** All of them must hold. Those of asker and place are asked once for each that there is, the others for every request. */
export interface ConditionTests {
  readonly asker: readonly ((asker: Asker) => boolean)[];
  readonly place: readonly ((place: Place) => boolean)[];
  readonly metadata: readonly ((metadata: Metadata) => boolean)[];
  readonly model: readonly ((place: Place, model: string | undefined) => boolean)[];
}

export function compileConditions(conditions: readonly Condition[]): ConditionTests {
  const tests = { asker: [], place: [], metadata: [], model: [] } as {
    -readonly [Kind in keyof ConditionTests]: ConditionTests[Kind][number][];
  };
  for (const condition of conditions) {
    const { key } = condition;
    const holds = compileValues(condition);
    const [askerWords, placeWords] = [ASKER_WORDS.get(key), PLACE_WORDS.get(key)];
    if (askerWords !== undefined) tests.asker.push((asker) => holds(askerWords(asker)));
    else if (placeWords !== undefined) tests.place.push((place) => holds(placeWords(place)));
    else if (key === MODEL) tests.model.push((place, model) => holds(modelWords(place, model)));
    else tests.metadata.push(metadataTest(key.slice(METADATA_PREFIX.length), condition));
  }
  return tests;
}

/** One word at most: no list is made of it for each request. */
function metadataTest(name: string, { values, excludes }: Condition): (metadata: Metadata) => boolean {
  const isMeant = oneOf(values);
  const isExcluded = oneOf(excludes);
  return (metadata) => {
    const value = metadataValue(metadata, name);
    return value !== undefined && isMeant(value) && !isExcluded(value);
  };
}

/** Holds where one of the words is meant and none of them is excluded; never where there is no word. */
function compileValues({ key, values, excludes }: Condition): (words: readonly string[]) => boolean {
  const isMeant = oneOf(values, key === MODEL);
  const isExcluded = oneOf(excludes, key === MODEL);
  return (words) => words.some(isMeant) && !words.some(isExcluded);
}

/** `paths`: a value that ends in `/*` means all that begins like it. */
function oneOf(values: readonly string[], paths = false): (word: string) => boolean {
  if (values.includes(ANY)) return () => true;
  const whole = new Set(values);
  const starts = paths ? values.filter((value) => value.endsWith(BELOW)).map((value) => value.slice(0, -1)) : [];
  if (starts.length === 0) return (word) => whole.has(word);
  return (word) => whole.has(word) || starts.some((start) => word.startsWith(start));
}

/** The values of the condition that pins `key` to certain words; undefined: any word may do. */
export function pinnedWords(conditions: readonly Condition[], key: string): readonly string[] | undefined {
  return conditions.find((condition) => condition.key === key && !condition.values.includes(ANY))?.values;
}
