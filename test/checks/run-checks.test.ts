/** Running the checks of a guardrail: order, deadlines, errors, what mutators pass on. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CheckError, type CompiledCheck, type Finding } from '#gateway/checks/check.ts';
import { type CheckRun, type RunOptions, runChecks } from '#gateway/checks/run-checks.ts';
import type { Subject } from '#gateway/checks/subject.ts';
import { hanging } from './means.ts';
import { answered, asked, checkOf, request } from './subjects.ts';

const OK: Finding = { verdict: true, data: {} };
const NO: Finding = { verdict: false, data: { why: 'no' } };

let defects: [id: string, thrown: unknown][] = [];
beforeEach(() => {
  defects = [];
});
afterEach(() => {
  vi.useRealTimers();
});

function made(id: string, run: CompiledCheck['run'], more: Partial<CompiledCheck> = {}): CompiledCheck {
  return { id, sides: 'both', mutates: false, timeoutMs: undefined, failOnError: true, run, ...more };
}

const slow = (id: string, run: CompiledCheck['run'], more: Partial<CompiledCheck> = {}) =>
  made(id, run, { timeoutMs: 1_000, ...more });

function options(more: Partial<RunOptions> = {}): RunOptions {
  return {
    sequential: false,
    totalMs: 5_000,
    signal: new AbortController().signal,
    onDefect: (...defect) => defects.push(defect),
    ...more,
  };
}

const run = (checks: CompiledCheck[], more: Partial<RunOptions> = {}, subject: Subject = asked('Hi')) =>
  runChecks(checks, subject, options(more));

/** A run that needed no promise. */
function atOnce(given: CheckRun | Promise<CheckRun>): CheckRun {
  if (given instanceof Promise) throw new Error('it is a promise');
  return given;
}

describe('checks that never wait', () => {
  it('cost no promise, not even with mutators', () => {
    const checks = [
      checkOf('wordCount', {}),
      checkOf('regexReplace', { rule: 'H' }),
      checkOf('pii', { redact: true }),
      checkOf('notNull', {}),
    ];
    expect(atOnce(run(checks)).results).toHaveLength(4);
    expect(atOnce(run(checks, { sequential: true })).results).toHaveLength(4);
    expect(atOnce(run([])).verdict).toBe(true);
  });

  it('cost none either where they could have waited', () => {
    expect(atOnce(run([slow('a', () => OK)])).verdict).toBe(true);
    expect(vi.getTimerCount).toBeTypeOf('function');
  });

  it('give results in the shape of hook_results', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 2), toFake: ['Date'] });
    const { results, verdict } = atOnce(run([made('x.y', () => NO)]));
    expect(verdict).toBe(false);
    expect(results).toEqual([
      {
        id: 'x.y',
        verdict: false,
        data: { why: 'no' },
        error: null,
        fail_on_error: true,
        transformed: false,
        created_at: '2026-01-02T00:00:00.000Z',
        execution_time: expect.any(Number),
      },
    ]);
  });

  it('are passed where all of them are', () => {
    for (const [findings, verdict] of [
      [[OK, OK], true],
      [[OK, NO], false],
      [[NO, OK], false],
    ] as const) {
      expect(atOnce(run(findings.map((finding, index) => made(`c${index}`, () => finding)))).verdict).toBe(verdict);
    }
  });
});

describe('checks that wait', () => {
  function recorder() {
    const events: string[] = [];
    const check = (id: string, more: Partial<CompiledCheck> = {}) =>
      slow(
        id,
        async () => {
          events.push(`${id} begins`);
          await Promise.resolve();
          await Promise.resolve();
          events.push(`${id} ends`);
          return OK;
        },
        more,
      );
    return { events, check };
  }

  it('run side by side', async () => {
    const { events, check } = recorder();
    await run([check('a'), check('b')]);
    expect(events).toEqual(['a begins', 'b begins', 'a ends', 'b ends']);
  });

  it('run one after the other where that is asked', async () => {
    const { events, check } = recorder();
    await run([check('a'), check('b')], { sequential: true });
    expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  it('have a mutator wait for those before it, and those behind wait for it', async () => {
    const { events, check } = recorder();
    await run([check('a'), check('b'), check('m', { mutates: true }), check('c'), check('d')]);
    expect(events).toEqual([
      'a begins',
      'b begins',
      'a ends',
      'b ends',
      'm begins',
      'm ends',
      'c begins',
      'd begins',
      'c ends',
      'd ends',
    ]);
  });

  it('keep their order in the results, whoever is first', async () => {
    const later = (ms: number) => () => new Promise<Finding>((resolve) => setTimeout(() => resolve(OK), ms));
    const { results } = await run([
      slow('a', later(30)),
      made('b', () => OK),
      slow('c', later(1)),
      slow('d', later(15)),
    ]);
    expect(results.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
    expect(results[0]?.execution_time).toBeGreaterThan(results[2]?.execution_time ?? Number.NaN);
  });

  it('give the same results in whatever way they are mixed', async () => {
    const kind = fc.record({ waits: fc.boolean(), mutates: fc.boolean(), passes: fc.boolean(), throws: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(kind, { maxLength: 8 }), fc.boolean(), async (kinds, sequential) => {
        const checks = kinds.map(({ waits, mutates, passes, throws }, index) => {
          const act = (subject: Subject): Finding => {
            if (throws) throw new CheckError('It is broken.');
            const rewrites = mutates ? [{ path: ['prompt'], value: `${subject.last}${index}` }] : [];
            return { verdict: passes, data: { saw: subject.last }, rewrites };
          };
          return waits
            ? slow(`c${index}`, async (subject) => act(subject), { mutates })
            : made(`c${index}`, act, { mutates });
        });
        const result = await run(checks, { sequential }, request({ prompt: '' }));
        const written = kinds.flatMap(({ mutates, throws }, index) => (mutates && !throws ? [index] : [])).join('');
        expect(result.subject.last).toBe(written);
        expect(result.verdict).toBe(kinds.every(({ passes, throws }) => passes && !throws));
        result.results.forEach(({ id, data, error }, index) => {
          const before = written
            .split('')
            .filter((digit) => Number(digit) < index)
            .join('');
          expect([id, error === null]).toEqual([`c${index}`, !kinds[index]?.throws]);
          if (error === null) expect(data).toEqual({ saw: before });
        });
      }),
      { numRuns: 200 },
    );
  });
});

describe('mutators', () => {
  it('each work on what the one before has made: nothing that was redacted comes back', async () => {
    const checks = [
      checkOf('pii', { redact: true }),
      checkOf('regexReplace', { rule: 'Ann', redactText: '[NAME]' }),
      checkOf('pii', {}),
      checkOf('addPrefix', { prefix: '> ' }),
    ];
    const result = await run(checks, {}, asked('Ann is ann@example.com'));
    expect(result.subject.last).toBe('> [NAME] is [EMAIL_ADDRESS]');
    expect(result.transformed).toBe(true);
    expect(result.results.map(({ verdict, transformed }) => [verdict, transformed])).toEqual([
      [true, true],
      [true, true],
      [true, false],
      [true, true],
    ]);
  });

  it('leave the subject alone where they find nothing', async () => {
    const subject = asked('Hi');
    const result = await run([checkOf('pii', { redact: true })], {}, subject);
    expect(result.subject).toBe(subject);
    expect(result.transformed).toBe(false);
  });

  it('that write where nothing is have failed', async () => {
    const result = await run([
      made('m', () => ({ ...OK, rewrites: [{ path: ['no', 'where'], value: 1 }] }), { mutates: true }),
    ]);
    expect(result.results[0]).toMatchObject({
      verdict: false,
      transformed: false,
      error: { message: expect.stringContaining('no place') },
    });
  });
});

describe('errors', () => {
  const throwing = (thrown: unknown) => () => {
    throw thrown;
  };
  const rejecting = (thrown: unknown) => () => Promise.reject(thrown);

  it.each([
    ['thrown', (id: string) => made(id, throwing(new CheckError('It is broken.', { window: 1 })))],
    ['rejected', (id: string) => slow(id, rejecting(new CheckError('It is broken.', { window: 1 })))],
  ])('of a check, %s, fail it and no other', async (_how, broken) => {
    const { results, verdict } = await run([made('a', () => OK), broken('b'), made('c', () => OK)]);
    expect(verdict).toBe(false);
    expect(results[1]).toMatchObject({
      verdict: false,
      error: { message: 'It is broken.' },
      data: { window: 1 },
      fail_on_error: true,
    });
    expect(results.map(({ verdict: passes }) => passes)).toEqual([true, false, true]);
    expect(defects).toEqual([]);
  });

  it('let it pass with failOnError false, and are told all the same', async () => {
    const { results, verdict } = await run([
      made('a', throwing(new CheckError('It is broken.')), { failOnError: false }),
    ]);
    expect(verdict).toBe(true);
    expect(results[0]).toMatchObject({ verdict: true, error: { message: 'It is broken.' }, fail_on_error: false });
  });

  it.each([[new Error('canary')], [new TypeError('canary')], ['canary'], [undefined], [null]])(
    'that nobody foresaw (%s) are reported as defects, and nothing of them is told',
    async (thrown) => {
      const { results } = await run([made('a', throwing(thrown)), slow('b', rejecting(thrown))]);
      expect(defects).toEqual([
        ['a', thrown],
        ['b', thrown],
      ]);
      for (const result of results)
        expect(result).toMatchObject({ verdict: false, error: { message: 'Something went wrong in this check.' } });
      expect(JSON.stringify(results)).not.toContain('canary');
    },
  );

  it('that come after the deadline reach nobody', async () => {
    const late = slow(
      'late',
      () => new Promise<Finding>((_, reject) => setTimeout(() => reject(new Error('too late')), 60)),
      { timeoutMs: 10 },
    );
    const { results } = await run([late]);
    expect(results[0]?.error?.message).toMatch(/longer than 10 ms/);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(defects).toEqual([]);
  });
});

describe('deadlines', () => {
  const never = () => new Promise<Finding>(() => undefined);

  it('end each check on its own', async () => {
    vi.useFakeTimers();
    const running = run([
      slow('a', never, { timeoutMs: 100 }),
      slow('b', never, { timeoutMs: 200, failOnError: false }),
      slow('c', async () => OK),
    ]);
    await vi.advanceTimersByTimeAsync(250);
    const { results, verdict } = await running;
    expect(results.map(({ verdict: passes, error }) => [passes, error?.message])).toEqual([
      [false, 'It took longer than 100 ms.'],
      [true, 'It took longer than 200 ms.'],
      [true, undefined],
    ]);
    expect(verdict).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('end all of them together', async () => {
    vi.useFakeTimers();
    const running = run(
      [slow('a', never, { timeoutMs: 400 }), slow('b', never, { timeoutMs: 400 }), slow('c', never)],
      { totalMs: 500, sequential: true },
    );
    await vi.advanceTimersByTimeAsync(600);
    const { results } = await running;
    expect(results.map(({ error }) => error?.message)).toEqual([
      'It took longer than 400 ms.',
      'It took longer than 100 ms.',
      'There was no time left for this check.',
    ]);
  });

  it('abort what a check waits for', async () => {
    vi.useFakeTimers();
    let aborted = false;
    const waits = slow('a', (_subject, signal) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return hanging(signal);
    });
    const running = run([waits]);
    await vi.advanceTimersByTimeAsync(1_000);
    await running;
    expect(aborted).toBe(true);
  });
});

describe('a caller who leaves', () => {
  it('ends all that wait, at once', async () => {
    const leaving = new AbortController();
    const seen: boolean[] = [];
    const waits = (id: string) =>
      slow(id, (_subject, signal) => hanging(signal).finally(() => seen.push(signal.aborted)), { timeoutMs: 60_000 });
    const running = run([waits('a'), waits('b')], { signal: leaving.signal });
    leaving.abort();
    const { results } = await running;
    expect(results.map(({ verdict, error }) => [verdict, error?.message])).toEqual([
      [false, 'The caller has left.'],
      [false, 'The caller has left.'],
    ]);
    expect(defects).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([true, true]);
  });

  it('has nothing begun for them any more', async () => {
    const check = vi.fn(() => OK);
    const { results } = await run([made('a', check)], { signal: AbortSignal.abort() });
    expect(check).not.toHaveBeenCalled();
    expect(results[0]?.error?.message).toBe('The caller has left.');
  });

  it('leaves no listener behind on a signal that lives on', async () => {
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, 'addEventListener');
    const remove = vi.spyOn(signal, 'removeEventListener');
    await run([slow('a', async () => OK), slow('b', () => Promise.reject(new CheckError('No.')))], { signal });
    await new Promise((resolve) => setImmediate(resolve));
    expect(add).toHaveBeenCalledTimes(2);
    expect(remove).toHaveBeenCalledTimes(2);
  });
});

describe('sides', () => {
  it('leave a check out that looks at the other one, and say so', async () => {
    const { results } = await run([checkOf('inlineImageUrls', {})], {}, answered('x'));
    expect(results[0]).toMatchObject({ verdict: true, data: { explanation: 'It looks at the request alone.' } });
  });
});
