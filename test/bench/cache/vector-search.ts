import { CacheKey } from '#gateway/cache/cache-key.ts';
import { CacheScope } from '#gateway/cache/cache-scope.ts';
import { Vectors } from '#gateway/cache/vectors.ts';
import { seeded } from '../../gateway/route/world.ts';

const ROWS = 10_000;
const DIMENSIONS = 1_536;
const SEARCHES = 60;
/** Cosine of two of them, about: unrelated texts of models of today and of yesterday, and the worst there can be: nearly alike. */
const CLOSENESS = [0, 0.3, 0.8, 0.93] as const;
const WORST = 0.93;

export interface SearchTimes {
  readonly what: string;
  /** Nobody has such texts, and too few are left early. */
  readonly isWorst: boolean;
  /** Of this process's processor time: others use the machine too. */
  readonly timesMs: readonly number[];
}

export function searchTimesMs(): SearchTimes[] {
  return CLOSENESS.map((cosine) => ({
    what: `the nearest of ${ROWS.toLocaleString('en-US')} x ${DIMENSIONS.toLocaleString('en-US')}, cosines about ${cosine}`,
    isWorst: cosine === WORST,
    timesMs: timesOf(cosine),
  }));
}

function timesOf(cosine: number): number[] {
  const random = seeded(1);
  const scope = CacheScope.of({ workspace: 'team-a', epoch: '', cacheNamespace: undefined, metadata: {} });
  const shelf = CacheKey.of(scope, ['shelf']);
  const vectors = new Vectors({ maxBytes: 1024 * 1024 * 1024 });
  const centre = gaussian(random);
  const draw = () => near(centre, cosine, random);
  for (let row = 0; row < ROWS; row += 1) vectors.add(shelf, draw(), CacheKey.of(scope, [String(row)]), 3_600_000);
  const times: number[] = [];
  for (let turn = 0; turn < SEARCHES; turn += 1) {
    const asked = draw();
    const before = process.cpuUsage();
    vectors.nearest(shelf, asked);
    const { user, system } = process.cpuUsage(before);
    if (turn >= SEARCHES / 3) times.push((user + system) / 1000);
  }
  return times;
}

/** Two of them have about this cosine. */
function near(centre: Float64Array, cosine: number, random: () => number): Float64Array {
  const own = gaussian(random);
  return centre.map((part, at) => Math.sqrt(cosine) * part + Math.sqrt(1 - cosine) * (own[at] ?? 0));
}

/** As good as normally distributed: the sum of four. */
function gaussian(random: () => number): Float64Array {
  return new Float64Array(DIMENSIONS).map(() => random() + random() + random() + random() - 2);
}
