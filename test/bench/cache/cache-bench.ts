/** `npm run bench -- cache`: what looking into the cache costs, in this process. Prints one Markdown table. */
import { cpus } from 'node:os';
import { AnswerCache } from '#gateway/cache/answer-cache.ts';
import { CacheEncryption } from '#gateway/cache/cache-encryption.ts';
import { type CacheKey, type CacheRequest, cacheKeyOf } from '#gateway/cache/cache-key.ts';
import { CacheScope } from '#gateway/cache/cache-scope.ts';
import { ANSWER_FORMS, assemblerOf } from '#gateway/cache/forms/forms.ts';
import { ENTRY_OVERHEAD_BYTES, MemoryCache } from '#gateway/cache/memory-cache.ts';
import { openAiChat } from '../../fakes/openai-wire.ts';
import { quantile } from '../cluster/figures.ts';
import { memoryPerEntry } from './memory-per-entry.ts';
import { searchTimesMs } from './vector-search.ts';

interface Row {
  readonly what: string;
  readonly figure: string;
  readonly isMet: boolean;
}

const ENTRIES = 10_000;
const ROUNDS = 20_000;
const HOUR_MS = 3_600_000;
const MAX_SEARCH_MS = 3;
const ANSWER = openAiChat({ text: 'A word and another. '.repeat(100) });
const BODY = Buffer.from(JSON.stringify(ANSWER));
const ENTRY = {
  status: 200,
  dialect: 'openai',
  body: BODY,
  provider: 'openai',
  model: 'gpt-test',
  usage: ANSWER.usage,
  cost: undefined,
  complete: true,
  denied: false,
  noStore: false,
} as const;

function requestOf(question: number): CacheRequest {
  return {
    scope: CacheScope.of({ workspace: 'team-a', epoch: '', cacheNamespace: undefined, metadata: { _user: 'alice' } }),
    provider: 'openai',
    upstream: 'https://api.example.com/v1',
    endpoint: { type: 'chatComplete', path: '/v1/chat/completions' },
    treatment: 'strict',
    body: {
      model: 'gpt-test',
      temperature: 0.5,
      messages: [
        { role: 'system', content: 'Be brief. '.repeat(100) },
        { role: 'user', content: `Question ${question}: ${'why is it so? '.repeat(70)}` },
      ],
    },
  };
}

function keyOf(question: number): CacheKey {
  const key = cacheKeyOf(requestOf(question));
  if (key === undefined) throw new Error('the request has no key');
  return key;
}

/** Microseconds of processor time of one call; the best of some rounds, as others use this machine too. */
function microseconds(call: (round: number) => unknown): number {
  const times: number[] = [];
  for (let turn = 0; turn < 7; turn += 1) {
    const before = process.cpuUsage();
    for (let round = 0; round < ROUNDS; round += 1) call(round);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / ROUNDS);
  }
  return Math.min(...times);
}

function costRow(what: string, call: (round: number) => unknown): Row {
  return { what, figure: `${microseconds(call).toFixed(2)} us`, isMet: true };
}

function lookups(name: string, encryption: CacheEncryption | undefined): Row[] {
  const cache = new AnswerCache({ store: new MemoryCache({ maxBytes: 256 * 1024 * 1024 }), encryption });
  const keys = Array.from({ length: ENTRIES }, (_, question) => keyOf(question));
  for (const key of keys) cache.remember(key, ENTRY, HOUR_MS);
  const key = (round: number) => keys[(round * 7919) % ENTRIES] ?? keyOf(0);
  return [
    costRow(`a hit in memory, ${name} (answer of ${BODY.length} bytes)`, (round) => cache.recall(key(round), HOUR_MS)),
    costRow(`keeping an answer, ${name}`, (round) => cache.remember(key(round), ENTRY, HOUR_MS)),
  ];
}

function forms(): Row[] {
  const form = ANSWER_FORMS.get('chatComplete');
  if (form === undefined) return [];
  const stream = Buffer.from(form.replay(ANSWER, true) ?? '');
  return [
    costRow('an answer replayed as a stream, its JSON read first', () =>
      form.replay(JSON.parse(BODY.toString()), true),
    ),
    costRow('that stream put together again', () => {
      const assembler = assemblerOf(form, 1024 * 1024);
      assembler.push(stream);
      return JSON.stringify(assembler.whole(undefined));
    }),
  ];
}

function searches(): Row[] {
  return searchTimesMs().map(({ what, timesMs, isWorst }) => {
    const [p50, p99] = [quantile(timesMs, 0.5), quantile(timesMs, 0.99)];
    const isMet = isWorst || p50 <= MAX_SEARCH_MS;
    const verdict = isWorst ? 'the worst there can be' : `<= ${MAX_SEARCH_MS} ms: ${isMet ? 'met' : '**missed**'}`;
    return { what, figure: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; ${verdict}`, isMet };
  });
}

export function runCacheBench(): boolean {
  const bytes = memoryPerEntry();
  const rows: readonly Row[] = [
    costRow('the key of a request of 2 KB', (round) => keyOf(round % 100)),
    ...lookups('as it is', undefined),
    ...lookups('encrypted', CacheEncryption.read('11'.repeat(32))),
    ...forms(),
    {
      what: 'memory of an entry besides its bytes',
      figure: `${bytes.toFixed(0)} bytes; counted: ${ENTRY_OVERHEAD_BYTES}`,
      isMet: bytes <= ENTRY_OVERHEAD_BYTES,
    },
    ...searches(),
  ];
  const [cpu] = cpus();
  const lines = rows.map(({ what, figure }) => `| ${what} | ${figure} |`);
  console.log(['| | |', '|---|---:|', ...lines].join('\n'));
  console.log(
    `\nNode ${process.versions.node}; ${cpu?.model.trim()} x ${cpus().length}; processor time, best of 7 rounds.`,
  );
  return rows.every(({ isMet }) => isMet);
}
