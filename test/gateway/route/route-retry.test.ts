import { describe, expect, test } from 'vitest';
import { GatewayError } from '#gateway/errors.ts';
import { branch, NETWORK, reply, retryRule, type Script, seeded, TIMEOUT, target, World } from './world.ts';

const THREE = target('a', { retry: retryRule(3) });

function names(count: number): string[] {
  return Array.from({ length: count }, (_, retry) => (retry === 0 ? 'a' : `a#${retry}`));
}

describe('retries of one target', () => {
  test.each<[string, Script, attempts: number, status: number, retryCount: number]>([
    ['answers at once', 200, 1, 200, 0],
    ['fails with what is not retried', 404, 1, 404, 0],
    ['answers on the first retry', [503, 200], 2, 200, 1],
    ['answers on the last retry', [503, 429, 500, 200], 4, 200, 3],
    ['never answers', 503, 4, 503, -1],
    ['the last failure is returned', [500, 502, 503, 504], 4, 504, -1],
    ['ends in what is not retried', [503, 400], 2, 400, 1],
    ['network errors', [NETWORK, NETWORK, 200], 3, 200, 2],
    ['a timeout is not retried', [503, TIMEOUT], 2, 408, 1],
    ['our refusal is not retried', reply(502, { failure: 'refused' }), 1, 502, 0],
    ['what is final is not retried', reply(502, { failure: 'network', final: true }), 1, 502, 0],
    ['final on a retry', [503, reply(502, { failure: 'network', final: true })], 2, 502, 1],
  ])('%s', async (_name, script, attempts, status, retryCount) => {
    const world = new World({ a: script });
    const routed = await world.route(THREE);
    expect(world.asked).toEqual(names(attempts));
    expect(routed.reply?.status).toBe(status);
    expect(routed.retryCount).toBe(retryCount);
    expect(world.slept).toHaveLength(attempts - 1);
  });

  test('attempts 0: no retry, nothing exhausted', async () => {
    const routed = await new World({ a: 503 }).route(target('a', { retry: retryRule(0) }));
    expect(routed.retryCount).toBe(0);
  });

  test('backoff doubles, with full jitter', async () => {
    const world = new World({ a: 503 });
    world.random = () => 0.75;
    await world.route(target('a', { retry: retryRule(5) }));
    expect(world.slept).toEqual([750, 1500, 3000, 6000, 12_000]);
  });

  test('a timeout is retried where 408 is listed', async () => {
    const world = new World({ a: [TIMEOUT, 200] });
    const routed = await world.route(target('a', { retry: retryRule(1, { statusCodes: new Set([408]) }) }));
    expect(routed.retryCount).toBe(1);
  });

  test.each([0, 0.5, 0.999_999])('never sleeps past the deadline (random %d)', async (random) => {
    const world = new World({ a: 503 });
    world.random = () => random;
    const deadlineAt = world.nowMs + 2500;
    await world.route(target('a', { retry: retryRule(5) }), { deadlineAt });
    expect(world.nowMs).toBeLessThanOrEqual(deadlineAt);
    for (const waitMs of world.slept) expect(waitMs).toBeLessThanOrEqual(2500);
  });

  test('an attempt that used up the time is the last', async () => {
    const world: World = new World({
      a: () => {
        world.nowMs += 10_000;
        return 503;
      },
    });
    const routed = await world.route(THREE, { deadlineAt: world.nowMs + 10_000 });
    expect(world.asked).toEqual(['a']);
    expect(routed).toMatchObject({ reply: { status: 503 }, retryCount: -1 });
  });

  test('a sleep that took too long is followed by nothing', async () => {
    const world = new World({ a: 503 });
    world.onSleep = () => {
      world.nowMs += 60_000;
    };
    await world.route(THREE, { deadlineAt: world.nowMs + 30_000 });
    expect(world.asked).toEqual(['a']);
  });

  test('a client that leaves while we sleep is not asked for', async () => {
    const world = new World({ a: 503, b: 200 });
    world.onSleep = () => {
      world.gone = true;
    };
    await world.route(branch('fallback', [THREE, target('b')]));
    expect(world.asked).toEqual(['a']);
  });

  test('a client that left during the first attempt costs no sleep', async () => {
    const world: World = new World({
      a: () => {
        world.gone = true;
        return 503;
      },
    });
    await world.route(THREE);
    expect(world.slept).toEqual([]);
  });
});

describe('retry-after', () => {
  const heeding = (attempts: number) => target('a', { retry: retryRule(attempts, { useRetryAfter: true }) });
  const wish = (seconds: string) => reply(429, { headers: { 'retry-after': seconds } });

  test('is followed', async () => {
    const world = new World({ a: [wish('3'), wish('0.25'), 200] });
    const routed = await world.route(heeding(5));
    expect(world.slept).toEqual([3000, 250]);
    expect(routed.retryCount).toBe(2);
  });

  test('G27: an hour ends the retries at once, the code is kept', async () => {
    const world = new World({ a: wish('3600') });
    const routed = await world.route(heeding(5));
    expect(world.asked).toEqual(['a']);
    expect(world.slept).toEqual([]);
    expect(routed).toMatchObject({ reply: { status: 429, headers: { 'retry-after': '3600' } }, retryCount: -1 });
  });

  test('G27: an hour moves on to the next target at once', async () => {
    const world = new World({ a: wish('3600') });
    const routed = await world.route(branch('fallback', [heeding(5), target('b')]));
    expect(world.asked).toEqual(['a', 'b']);
    expect(world.slept).toEqual([]);
    expect(routed).toMatchObject({ reply: { status: 200 }, retryCount: 0 });
  });

  test('G27: garbage is a backoff, a past date no wait', async () => {
    const world = new World({ a: [wish('soon'), wish('Sun, 06 Nov 1994 08:49:37 GMT'), 200] });
    await world.route(heeding(5));
    expect(world.slept).toEqual([500, 0]);
  });

  test('a date is counted from the wall clock', async () => {
    const world = new World();
    const later = new Date(world.unixOffsetMs + world.nowMs + 5000).toUTCString();
    const routing = new World({ a: [wish(later), 200] });
    await routing.route(heeding(1));
    expect(routing.slept).toEqual([5000]);
  });

  test('the sum is capped at 60 s', async () => {
    const world = new World({ a: wish('25') });
    const routed = await world.route(heeding(5));
    expect(world.slept).toEqual([25_000, 25_000]);
    expect(routed.retryCount).toBe(-1);
  });

  test('a wish beyond the deadline ends the retries', async () => {
    const world = new World({ a: wish('10') });
    await world.route(heeding(5), { deadlineAt: world.nowMs + 10_000 });
    expect(world.slept).toEqual([]);
  });

  test('is ignored where the config does not say to read it', async () => {
    const world = new World({ a: [wish('3600'), 200] });
    const routed = await world.route(target('a', { retry: retryRule(1) }));
    expect(world.slept).toEqual([500]);
    expect(routed.reply?.status).toBe(200);
  });
});

describe('retry count with several targets', () => {
  test("is the answering target's own", async () => {
    const b = target('b', { retry: retryRule(3) });
    const world = new World({ a: 503, b: [503, 200] });
    const routed = await world.route(branch('fallback', [THREE, b]));
    expect(world.asked).toEqual([...names(4), 'b', 'b#1']);
    expect(routed).toMatchObject({ target: b, retryCount: 1 });
  });
});

describe('retry budget', () => {
  const other = target('b', { retry: retryRule(5) });

  test('ends the retries when it is empty, the fallback goes on', async () => {
    const world = new World({ a: reply(503, { budgetKey: 'up' }) });
    for (let request = 0; request < 4; request += 1) await world.route(THREE);
    expect(world.takeAsked()).toHaveLength(4 + 10);
    const routed = await world.route(branch('fallback', [THREE, target('z')]));
    expect(world.asked).toEqual(['a', 'z']);
    expect(routed.target?.path).toBe('z');
  });

  test('an empty budget is not slept for', async () => {
    const world = new World({ a: 503 });
    for (let request = 0; request < 4; request += 1) await world.route(THREE);
    world.slept.splice(0);
    const routed = await world.route(THREE);
    expect(world.slept).toEqual([]);
    expect(routed.retryCount).toBe(-1);
  });

  test('is shared by the targets of one upstream', async () => {
    const world = new World({ a: reply(503, { budgetKey: 'up' }), b: reply(503, { budgetKey: 'up' }) });
    await world.route(other);
    await world.route(other);
    await world.route(THREE);
    expect(world.asked.filter((path) => path.includes('#'))).toHaveLength(10);
    expect(world.asked.at(-1)).toBe('a');
  });

  test('is not shared by two upstreams', async () => {
    const world = new World({ a: reply(503, { budgetKey: 'one' }), b: reply(503, { budgetKey: 'other' }) });
    for (let request = 0; request < 5; request += 1) await world.route(THREE);
    world.takeAsked();
    await world.route(other);
    expect(world.asked).toHaveLength(6);
  });

  test('successes of any target refill it, with or without retries of its own', async () => {
    const world = new World({ a: reply(503, { budgetKey: 'up' }), b: reply(200, { budgetKey: 'up' }) });
    for (let request = 0; request < 4; request += 1) await world.route(THREE);
    for (let request = 0; request < 10; request += 1) await world.route(target('b'));
    world.takeAsked();
    await world.route(THREE);
    expect(world.asked).toEqual(['a', 'a#1']);
  });

  test('a retry that succeeds refills it too', async () => {
    const world = new World({ a: (call) => (call % 2 === 0 ? 503 : 200) });
    // Each of these costs 1 and earns 0.1: the eleventh is paid by the ten before.
    for (let request = 0; request < 11; request += 1) await world.route(target('a', { retry: retryRule(1) }));
    expect(world.asked.filter((path) => path === 'a#1')).toHaveLength(11);
    expect(world.budgets.take('a')).toBe(false);
  });

  test("an upstream fixed by the config lends its target's key; one that cannot be used has the target's own", async () => {
    const upstream = { budgetKey: 'fixed' } as Exclude<typeof THREE.upstream, 'request' | GatewayError>;
    const fixed = target('a', { retry: retryRule(3), upstream });
    const world = new World({ a: 503 });
    await world.route(fixed);
    for (let retry = 0; retry < 7; retry += 1) expect(world.budgets.take('fixed')).toBe(true);
    expect(world.budgets.take('fixed')).toBe(false);
    const broken = target('a', { retry: retryRule(3), upstream: new GatewayError('unknown_slug', 'no @x') });
    await world.route(broken);
    for (let retry = 0; retry < 7; retry += 1) expect(world.budgets.take('a')).toBe(true);
    expect(world.budgets.take('a')).toBe(false);
  });
});

describe('G29: all targets failing', () => {
  test('the upstreams see at most 1.2 times the requests', async () => {
    const world = new World({ a: reply(503, { budgetKey: 'a' }), b: reply(500, { budgetKey: 'b' }) });
    world.random = seeded(3);
    const root = branch('fallback', [target('a', { retry: retryRule(5) }), target('b', { retry: retryRule(5) })]);
    const requests = 1000;
    for (let request = 0; request < requests; request += 1) {
      const routed = await world.route(root);
      expect(routed.reply?.status).toBe(500);
    }
    for (const name of ['a', 'b']) {
      const load = world.asked.filter((path) => path.startsWith(name)).length;
      expect(load).toBe(requests + 10);
      expect(load).toBeLessThanOrEqual(requests * 1.2);
    }
  });

  test('the same for requests side by side', async () => {
    const world = new World({ a: 503 });
    const requests = 1000;
    const root = target('a', { retry: retryRule(5) });
    const routed = await Promise.all(Array.from({ length: requests }, () => world.route(root)));
    expect(routed.every((each) => each.retryCount === -1)).toBe(true);
    expect(world.asked.length).toBeLessThanOrEqual(requests * 1.2);
  });

  test.each([0.5, 0.2, 0.05])('failing with chance %d: load stays within 1.2 times', async (chance) => {
    const random = seeded(9);
    const world = new World({ a: () => (random() < chance ? 503 : 200) });
    const requests = 2000;
    for (let request = 0; request < requests; request += 1) await world.route(target('a', { retry: retryRule(2) }));
    expect(world.asked.length).toBeLessThanOrEqual(requests * 1.2);
    // It may retry, though: the bound is not met by doing nothing.
    expect(world.asked.length).toBeGreaterThan(requests + 10);
  });
});
