/**
 * `npm run bench -- checks`: ten local checks on a prompt of 2 KB, each and together, in microseconds of this process's CPU (so
 * that a busy machine changes little); medians of rounds.
 */
import { compileCheck } from '#gateway/checks/checks.ts';
import type { CheckMeans } from '#gateway/checks/means.ts';
import { runChecks } from '#gateway/checks/run-checks.ts';
import { createSubject } from '#gateway/checks/subject.ts';

const GOAL_MICROSECONDS = 60;
const ROUNDS = 15;
const RUNS = 2_000;

const PROSE =
  'Our customer writes that the parcel arrived on Tuesday, but the box was open and one of the two cups is missing. ' +
  'He asks whether we can send another one, or return 24.90 of the price; the order is 2026-1187 of May 3rd. ';

const TEN: readonly (readonly [id: string, parameters: object])[] = [
  ['regexMatch', { rule: '(?i)\\b(bomb|weapon)s?\\b', not: true }],
  ['contains', { words: ['lawsuit', 'lawyer', 'refund fraud'], operator: 'none' }],
  ['wordCount', { maxWords: 2_000 }],
  ['characterCount', { maxCharacters: 20_000 }],
  ['containsCode', { format: 'SQL', not: true }],
  ['pii', {}],
  ['secrets', {}],
  ['promptInjection', {}],
  ['modelWhitelist', { models: ['gpt-4o*'] }],
  ['requiredMetadataKeys', { metadataKeys: ['team'] }],
];

const nobody = () => Promise.reject(new Error('local checks ask nobody'));
const MEANS: CheckMeans = {
  call: nobody,
  download: nobody,
  resolves: nobody,
  complete: nobody,
  moderate: nobody,
  record: () => undefined,
  now: Date.now,
  keyPrefix: 'mgw_',
};

function compiled(id: string, parameters: object) {
  const check = compileCheck(id, parameters, MEANS);
  if (typeof check === 'string') throw new Error(check);
  return check;
}

function newSubject() {
  const content = PROSE.repeat(Math.ceil(2_048 / PROSE.length)).slice(0, 2_048);
  const messages = [
    { role: 'system', content: 'You answer customers.' },
    { role: 'user', content },
  ];
  return createSubject({
    side: 'request',
    endpointType: 'chatComplete',
    body: { model: 'gpt-4o-mini', messages },
    model: 'gpt-4o-mini',
    metadata: { team: 'support' },
    headers: {},
    stream: false,
  });
}

const { signal } = new AbortController();
const OPTIONS = {
  sequential: false,
  totalMs: 1_000,
  signal,
  onDefect: (_id: string, thrown: unknown) => {
    throw thrown;
  },
};

/** Each run reads the texts anew, as each request does. */
function microseconds(checks: readonly ReturnType<typeof compiled>[]): number {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = process.cpuUsage();
    for (let run = 0; run < RUNS; run++) {
      const outcome = runChecks(checks, newSubject(), OPTIONS);
      if (outcome instanceof Promise || !outcome.verdict) throw new Error('every check passes, at once');
    }
    const { user, system } = process.cpuUsage(began);
    rounds.push((user + system) / RUNS);
  }
  return rounds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

export function runChecksBench(): boolean {
  const checks = TEN.map(([id, parameters]) => compiled(id, parameters));
  microseconds(checks);
  const all = microseconds(checks);
  const nothing = microseconds([]);
  for (const check of checks) console.log(`${check.id.padEnd(32)} ${(microseconds([check]) - nothing).toFixed(1)} us`);
  console.log(`${'ten together'.padEnd(32)} ${all.toFixed(1)} us, goal ${GOAL_MICROSECONDS} us`);
  return all <= GOAL_MICROSECONDS;
}
