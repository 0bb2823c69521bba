import { afterEach, describe, expect, it, vi } from 'vitest';
import { reflected } from './reflected.ts';
import { bookmark, configMap, failure, json, line, listOf, queryOf, silence } from './scripted-transport.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

const open: { close(): void }[] = [];
function start(...given: Parameters<typeof reflected>): ReturnType<typeof reflected> {
  const made = reflected(...given);
  open.push(made.reflection);
  return made;
}
/** Time does not stand still for what closes only after the check for timers. */
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

describe('a reflection', () => {
  it('holds what the list has, by namespace and name, once it is synced', async () => {
    const made = start({ list: () => json(listOf(7, [configMap(3), configMap(5, { name: 'b' })])) });
    expect(made.reflection.synced).toBe(false);
    await made.reflection.whenSynced;
    expect(made.reflection.synced).toBe(true);
    expect(made.held()).toEqual(['n/a@3', 'n/b@5']);
    expect(made.reflection.resourceVersion).toBe('7');
    expect(made.changes).toEqual([['n/a@3', 'n/b@5']]);
  });

  it('is told once of an empty collection too', async () => {
    const made = start();
    await pass();
    expect(made.changes).toEqual([[]]);
  });

  it('lists page by page what it selects, and watches from there with bookmarks', async () => {
    const pages = [listOf(7, [configMap(3)], 'more'), listOf(7, [configMap(5, { name: 'b' })])];
    const made = start(
      { list: () => json(pages.shift()) },
      { namespace: 'n', labelSelector: 'x=y', fieldSelector: 'metadata.name=a', pageSize: 1 },
    );
    await pass();
    const selected = { labelSelector: 'x=y', fieldSelector: 'metadata.name=a' };
    expect(made.lists.map(queryOf)).toEqual([
      { ...selected, limit: '1' },
      { ...selected, limit: '1', continue: 'more' },
    ]);
    expect(made.held()).toEqual(['n/a@3', 'n/b@5']);
    expect(made.watch.request.path).toMatch(/^\/api\/v1\/namespaces\/n\/configmaps\?/);
    const { timeoutSeconds, ...query } = queryOf(made.watch.request);
    expect(query).toEqual({ ...selected, resourceVersion: '7', allowWatchBookmarks: 'true', watch: 'true' });
    expect(Number(timeoutSeconds)).toBeGreaterThanOrEqual(45);
    expect(Number(timeoutSeconds)).toBeLessThanOrEqual(55);
  });

  it('lets watches end at different times', async () => {
    const made = start();
    await pass();
    for (let round = 0; round < 30; round++) {
      made.watch.write(bookmark(11 + round));
      made.watch.end();
      await pass();
    }
    expect(new Set(made.watches.map(({ request }) => queryOf(request)['timeoutSeconds'])).size).toBeGreaterThan(3);
  });

  it('follows what is added, modified and deleted', async () => {
    const made = start({ list: () => json(listOf(10, [configMap(3)])) });
    await pass();
    made.watch.write(line('ADDED', configMap(11, { name: 'b' })));
    await pass();
    made.watch.write(line('MODIFIED', configMap(12)));
    await pass();
    made.watch.write(line('DELETED', configMap(13, { name: 'b' })));
    await pass();
    expect(made.changes).toEqual([['n/a@3'], ['n/a@3', 'n/b@11'], ['n/a@12', 'n/b@11'], ['n/a@12']]);
    expect(made.reflection.resourceVersion).toBe('13');
    expect(made.faults).toEqual([]);
  });

  it('tells once of all that came together, and of nothing where nothing changed', async () => {
    const made = start();
    await pass();
    made.watch.write([1, 2, 3].map((n) => line('ADDED', configMap(10 + n, { name: `o${n}` }))).join('') + bookmark(20));
    await pass();
    made.watch.write(bookmark(30));
    await pass();
    expect(made.changes).toEqual([[], ['n/o1@11', 'n/o2@12', 'n/o3@13']]);
    expect(made.reflection.resourceVersion).toBe('30');
  });

  it('keeps neither managedFields nor the last-applied annotation', async () => {
    const metadata = {
      managedFields: [{ manager: 'm' }],
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', mine: 'kept' },
    };
    const made = start({ list: () => json(listOf(10, [configMap(3, metadata)])) });
    await pass();
    made.watch.write(line('ADDED', configMap(11, { name: 'b', ...metadata })));
    await pass();
    for (const object of made.reflection.objects.values()) {
      expect(object.metadata.annotations).toEqual({ mine: 'kept' });
      expect(object.metadata).not.toHaveProperty('managedFields');
      expect(object['data']).toBeDefined();
    }
    expect(made.reflection.objects.size).toBe(2);
  });

  it('gives items their apiVersion and kind, which lists leave out', async () => {
    const { apiVersion: _, kind: __, ...bare } = configMap(3);
    const made = start({ list: () => json(listOf(10, [bare])) });
    await pass();
    expect(made.reflection.objects.get('n/a')).toEqual(configMap(3));
  });

  it('asks for metadata alone where no more is wanted, and keeps no more even where all comes', async () => {
    const made = start({ list: () => json(listOf(10, [configMap(3)])) }, { metadataOnly: true });
    await pass();
    expect(made.lists[0]?.accept).toContain('as=PartialObjectMetadataList;v=v1;g=meta.k8s.io');
    expect(made.watch.request.accept).toContain('as=PartialObjectMetadata;v=v1;g=meta.k8s.io');
    const { metadata } = configMap(11, { name: 'b' });
    made.watch.write(line('ADDED', { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata }));
    made.watch.write(line('ADDED', configMap(12, { name: 'c' })));
    await pass();
    expect(made.held()).toEqual(['n/a@3', 'n/b@11', 'n/c@12']);
    for (const object of made.reflection.objects.values()) {
      expect(Object.keys(object).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
      expect(object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
    }
    expect(made.faults).toEqual([]);
  });
});

describe('when a watch ends', () => {
  it('it goes on at once from the last event or bookmark, without a list', async () => {
    const made = start();
    await pass();
    made.watch.write(line('ADDED', configMap(11)));
    await pass();
    made.watch.end();
    await pass();
    made.watch.write(bookmark(15));
    await pass();
    made.watch.end();
    await pass();
    expect(made.watches.map(({ request }) => queryOf(request)['resourceVersion'])).toEqual(['10', '11', '15']);
    expect(made.lists).toHaveLength(1);
    expect(made.faults).toEqual([]);
  });

  it('it waits ever longer between watches that end at once with nothing in them', async () => {
    const made = start({
      watch: (_, stream) => {
        stream.end();
        return stream.response;
      },
    });
    await pass(60_000);
    expect(made.watches.length).toBeGreaterThan(4);
    expect(made.watches.length).toBeLessThan(15);
    expect(made.lists).toHaveLength(1);
  });

  it('it goes on from the last event where the connection broke', async () => {
    const made = start();
    await pass();
    made.watch.write(line('ADDED', configMap(11)));
    await pass();
    made.watch.break(new Error('reset by peer'));
    await pass(200);
    expect(made.watches.map(({ request }) => queryOf(request)['resourceVersion'])).toEqual(['10', '11']);
    expect(made.lists).toHaveLength(1);
    expect(made.reasons()).toEqual(['NoAnswer']);
    expect(made.faults[0]?.message).toContain('reset by peer');
  });
});

describe('O8: a watch that is silent', () => {
  it('is given up after 60 s, and goes on from where it was', async () => {
    const made = start();
    await pass();
    await pass(30_000);
    made.watch.write(bookmark(12));
    await pass(59_999);
    expect(made.watches).toHaveLength(1);
    await pass(1 + 200);
    expect(made.watches.map(({ request }) => queryOf(request)['resourceVersion'])).toEqual(['10', '12']);
    expect(made.watches[0]?.request.signal?.aborted).toBe(true);
    expect(made.reasons()).toEqual(['Silent']);
    expect(made.lists).toHaveLength(1);
  });

  it('is given up after 5 s where it does not even begin', async () => {
    const made = start({ watch: silence });
    await pass(4_999);
    expect(made.watches).toHaveLength(1);
    await pass(201);
    expect(made.watches).toHaveLength(2);
    expect(made.reasons()).toEqual(['NoAnswer']);
  });
});

describe('O6, O9: what cannot be gone on from is told and listed anew', () => {
  const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
  const { metadata: _, ...nameless } = configMap(11);
  it.each([
    ['an ERROR event of 410', line('ERROR', gone), 'Expired'],
    ['any other ERROR event', line('ERROR', { kind: 'Status', code: 500, reason: 'InternalError' }), 'InternalError'],
    ['an ERROR event that says nothing', line('ERROR', null), 'Unknown'],
    ['a line that is no JSON', '{"type":"ADDED","object":{\n', 'BrokenLine'],
    ['a line that is no event', 'null\n', 'UnknownEvent'],
    ['an unknown type', line('RENAMED', configMap(11)), 'UnknownEvent'],
    ['a type that every object has', line('constructor', configMap(11)), 'UnknownEvent'],
    ['an object without metadata', line('ADDED', nameless), 'BrokenLine'],
    ['an object without a name', line('ADDED', configMap(11, { name: '' })), 'BrokenLine'],
    ['an object without a version', line('ADDED', configMap('')), 'BrokenLine'],
    ['a bookmark without a version', line('BOOKMARK', { metadata: {} }), 'BrokenLine'],
    ['another kind', line('ADDED', { ...configMap(11), kind: 'Secret' }), 'UnknownKind'],
    ['another version of the kind', line('ADDED', { ...configMap(11), apiVersion: 'v2' }), 'UnknownKind'],
    [
      'an object where metadata was not asked for',
      line('ADDED', { ...configMap(11), kind: 'PartialObjectMetadata' }),
      'UnknownKind',
    ],
    ['bytes that are no text', Uint8Array.of(0xff, 0xfe, 0x0a), 'BrokenLine'],
  ])('%s', async (_what, bytes, reason) => {
    const made = start({ list: () => json(listOf(10, [configMap(3), configMap(4, { name: 'b' })])) });
    await pass();
    made.script.list = () => json(listOf(20, [configMap(15)]));
    made.watch.write(bytes);
    await pass(200);
    expect(made.reasons()).toEqual([reason]);
    expect(made.lists).toHaveLength(2);
    expect(made.changes).toEqual([['n/a@3', 'n/b@4'], ['n/a@15']]);
    expect(queryOf(made.watch.request)['resourceVersion']).toBe('20');
  });

  it('a watch that is refused with 410', async () => {
    const made = start();
    made.script.watch = () => {
      delete made.script.watch;
      return failure(410, 'Expired');
    };
    await pass(200);
    expect(made.reasons()).toEqual(['Expired']);
    expect(made.lists).toHaveLength(2);
    expect(made.watches).toHaveLength(2);
  });

  it('a watch that ends within an event', async () => {
    const made = start();
    await pass();
    made.watch.write(line('ADDED', configMap(11)).slice(0, -1));
    made.watch.end();
    await pass(200);
    expect(made.reasons()).toEqual(['BrokenLine']);
    expect(made.lists).toHaveLength(2);
  });

  it('an event larger than the bound, without waiting for its end', async () => {
    const made = start();
    await pass();
    const megabyte = new Uint8Array(1024 * 1024).fill(0x20);
    for (let n = 0; n < 17; n++) made.watch.write(megabyte);
    await pass(200);
    expect(made.reasons()).toEqual(['TooLarge']);
    expect(made.lists).toHaveLength(2);
    expect(Number(queryOf(made.lists[1] ?? { method: 'GET', path: '' })['limit'])).toBeLessThan(500);
  });

  it('what came before the broken line, of the same bytes, is kept and told of', async () => {
    const made = start();
    await pass();
    made.script.list = silence;
    made.watch.write(`${line('ADDED', configMap(11))}broken\n`);
    await pass(200);
    expect(made.changes).toEqual([[], ['n/a@11']]);
  });

  it('what is broken again and again is not listed in haste', async () => {
    const made = start({
      watch: (_, stream) => {
        stream.write('broken\n');
        return stream.response;
      },
    });
    await pass(120_000);
    expect(made.lists.length).toBeGreaterThan(5);
    expect(made.lists.length).toBeLessThan(14);
    expect(made.faults).toHaveLength(made.lists.length);
  });

  it.each([
    ['an item without a name', listOf(20, [{ metadata: {} }])],
    ['no version', { ...listOf(20), metadata: {} }],
  ])('a list with %s is not believed', async (_what, list) => {
    const made = start({ list: () => json(list) });
    await pass();
    expect(made.reflection.synced).toBe(false);
    expect(made.reasons()).toEqual(['BrokenList']);
    made.script.list = () => json(listOf(30));
    await pass(200);
    expect(made.reflection.synced).toBe(true);
  });
});

describe('a new list', () => {
  it('leaves what did not change the very same object, and tells of nothing', async () => {
    const made = start({ list: () => json(listOf(10, [configMap(3)])) });
    await pass();
    const before = made.reflection.objects.get('n/a');
    made.watch.write('broken\n');
    await pass(200);
    expect(made.lists).toHaveLength(2);
    expect(made.reflection.objects.get('n/a')).toBe(before);
    expect(made.changes).toHaveLength(1);
  });

  it('O3: makes an object of the same name but another uid a new one', async () => {
    const made = start({ list: () => json(listOf(10, [configMap(3, { uid: 'first' })])) });
    await pass();
    made.script.list = () => json(listOf(20, [configMap(15, { uid: 'second' })]));
    made.watch.write('broken\n');
    await pass(200);
    expect(made.reflection.objects.get('n/a')?.metadata.uid).toBe('second');
    expect(made.changes).toHaveLength(2);
  });

  it('O2: is refused and tried again where it is older than what was seen', async () => {
    const made = start({ list: () => json(listOf(99, [configMap(3), configMap(98, { name: 'b' })])) });
    await pass();
    made.watch.write(bookmark(100));
    await pass();
    made.script.list = () => json(listOf(99, [configMap(3)]));
    made.watch.write('broken\n');
    await pass(2_000);
    expect(made.reasons().slice(0, 3)).toEqual(['BrokenLine', 'OlderList', 'OlderList']);
    expect(made.held()).toEqual(['n/a@3', 'n/b@98']);
    expect(made.reflection.resourceVersion).toBe('100');
    made.script.list = () => json(listOf(100, [configMap(3)]));
    await pass(30_000);
    expect(made.held()).toEqual(['n/a@3']);
  });

  it('O2: is refused where it is older than what a process before has seen', async () => {
    const made = start({ list: () => json(listOf(999)) }, { notBefore: '1000' });
    await pass(1_000);
    expect(made.reflection.synced).toBe(false);
    expect(new Set(made.reasons())).toEqual(new Set(['OlderList']));
    made.script.list = () => json(listOf(1000));
    await pass(5_000);
    expect(made.reflection.synced).toBe(true);
  });
});

describe('O5: events that come late, twice or out of order', () => {
  it.each([
    ['the same again', line('MODIFIED', configMap(12))],
    ['an older version', line('MODIFIED', configMap(11))],
    ['the deletion of an object before it, of the same name', line('DELETED', configMap(11, { uid: 'earlier' }))],
    ['what is older than the list, of something that is gone', line('ADDED', configMap(9, { name: 'gone' }))],
  ])('%s changes nothing', async (_what, late) => {
    const made = start();
    await pass();
    made.watch.write(line('ADDED', configMap(12)));
    await pass();
    made.watch.write(late);
    await pass();
    expect(made.held()).toEqual(['n/a@12']);
    expect(made.changes).toHaveLength(2);
    expect(made.reflection.resourceVersion).toBe('12');
  });

  it('an object that was deleted does not come back by an older event, but by a newer one', async () => {
    const made = start();
    await pass();
    made.watch.write(line('ADDED', configMap(11)) + line('DELETED', configMap(14)) + line('MODIFIED', configMap(13)));
    await pass();
    expect(made.held()).toEqual([]);
    made.watch.write(line('ADDED', configMap(15, { uid: 'another' })));
    await pass();
    expect(made.held()).toEqual(['n/a@15']);
  });
});

describe('O7: while the server fails', () => {
  it('it tries less and less often, and converges within 10 s after the server is back, by one list', async () => {
    const made = start({ list: () => Promise.reject(new Error('connect ECONNREFUSED')) });
    await pass(30 * 60_000);
    const tried = made.lists.length;
    expect(tried).toBeGreaterThan(100);
    expect(tried).toBeLessThan((30 * 60) / 4.9);
    expect(made.faults).toHaveLength(tried);
    made.script.list = () => json(listOf(10, [configMap(3)]));
    await pass(10_000);
    expect(made.held()).toEqual(['n/a@3']);
    expect(made.lists).toHaveLength(tried + 1);
  });

  it('what was known stays, and the watch goes on without a list', async () => {
    const made = start({ list: () => json(listOf(10, [configMap(3)])) });
    await pass();
    made.script.watch = () => Promise.reject(new Error('connect ECONNREFUSED'));
    made.watch.break(new Error('reset'));
    await pass(30 * 60_000);
    expect(made.held()).toEqual(['n/a@3']);
    delete made.script.watch;
    await pass(10_000);
    made.watch.write(line('MODIFIED', configMap(11)));
    await pass();
    expect(made.held()).toEqual(['n/a@11']);
    expect(made.lists).toHaveLength(1);
  });

  it.each([
    ['nobody answers', () => Promise.reject(new Error('connect ECONNREFUSED'))],
    ['what stands before it answers 503', () => failure(503, 'ServiceUnavailable')],
  ])('it converges as fast where the server needs some more seconds to come up: %s', async (_what, away) => {
    const made = start({ list: () => json(listOf(10, [configMap(3)])) });
    await pass();
    made.script.watch = away;
    made.watch.break(new Error('reset'));
    await pass(30 * 60_000);
    made.script.watch = () => failure(429, 'TooManyRequests', { headers: { 'retry-after': '1' } });
    await pass(6_000);
    delete made.script.watch;
    await pass(4_000);
    made.watch.write(line('MODIFIED', configMap(11)));
    await pass();
    expect(made.held()).toEqual(['n/a@11']);
  });

  it('it converges as fast where what was known is too old by then', async () => {
    const made = start({ list: () => json(listOf(10, [configMap(3)])) });
    await pass();
    made.script.watch = () => Promise.reject(new Error('connect ECONNREFUSED'));
    made.watch.break(new Error('reset'));
    await pass(30 * 60_000);
    made.script.list = () => json(listOf(20, [configMap(15)]));
    made.script.watch = () => {
      delete made.script.watch;
      return failure(410, 'Expired');
    };
    await pass(10_000);
    expect(made.held()).toEqual(['n/a@15']);
    expect(made.lists).toHaveLength(2);
  });

  it('a server for which every version is too old is not asked in haste', async () => {
    const made = start({ watch: () => failure(410, 'Expired') });
    await pass(120_000);
    expect(made.lists.length).toBeGreaterThan(5);
    expect(made.lists.length).toBeLessThan(14);
  });

  it.each([403, 404])('it keeps trying, slowly, where the list is refused with %d', async (status) => {
    const made = start({ list: () => failure(status, 'No') });
    await pass(10 * 60_000);
    expect(made.lists.length).toBeGreaterThan(20);
    expect(made.lists.length).toBeLessThan(35);
    expect(new Set(made.reasons())).toEqual(new Set(['No']));
    made.script.list = () => json(listOf(10));
    await pass(30_000);
    expect(made.reflection.synced).toBe(true);
  });

  it.each([
    [403, 2],
    [404, 2],
    [500, 2],
    [429, 1],
    [503, 1],
    [504, 1],
  ])('a watch refused with %d leads to %d lists in all', async (status, lists) => {
    const made = start();
    made.script.watch = () => {
      delete made.script.watch;
      return failure(status, 'No');
    };
    await pass(200);
    expect(made.watches).toHaveLength(2);
    expect(made.lists).toHaveLength(lists);
  });

  it('it waits as long as the server asks for', async () => {
    const made = start({ list: () => failure(429, 'TooManyRequests', { headers: { 'retry-after': '7' } }) });
    await pass(6_999);
    expect(made.lists).toHaveLength(1);
    await pass(1);
    expect(made.lists).toHaveLength(2);
  });

  it('a success makes the next wait a short one', async () => {
    const made = start({ list: () => Promise.reject(new Error('refused')) });
    await pass(60_000);
    made.script.list = () => json(listOf(10));
    await pass(10_000);
    made.watch.write(line('ADDED', configMap(11)));
    await pass();
    const before = made.watches.length;
    made.watch.break(new Error('reset'));
    await pass(200);
    expect(made.watches).toHaveLength(before + 1);
  });

  it('a list that expired between two pages is begun anew', async () => {
    let isExpired = true;
    const made = start({
      list: (request) => {
        if (queryOf(request)['continue'] === undefined) return json(listOf(10, [configMap(3)], 'more'));
        if (!isExpired) return json(listOf(10, [configMap(4, { name: 'b' })]));
        isExpired = false;
        return failure(410, 'Expired');
      },
    });
    await pass();
    expect(made.held()).toEqual(['n/a@3', 'n/b@4']);
    expect(made.lists).toHaveLength(4);
    expect(made.faults).toEqual([]);
  });

  it('a list that is too large is asked for in smaller pages', async () => {
    const big = 'x'.repeat(1024 * 1024);
    const made = start({
      list: (request) => {
        const items = Number(queryOf(request)['limit']) > 100 ? 70 : 1;
        return json(
          listOf(
            10,
            Array.from({ length: items }, (_, n) => configMap(3, { name: `o${n}`, big })),
          ),
        );
      },
    });
    await pass(1_000);
    expect(made.reasons()).toEqual(['TooLarge', 'TooLarge']);
    expect(made.reflection.synced).toBe(true);
  });
});

describe('close', () => {
  it('ends the watch at once, leaves no timer, and nothing is told any more', async () => {
    const made = start();
    await pass();
    made.reflection.close();
    made.watch.write(line('ADDED', configMap(11)));
    await pass();
    expect(vi.getTimerCount()).toBe(0);
    expect(made.watch.request.signal?.aborted).toBe(true);
    await pass(120_000);
    expect(made.changes).toHaveLength(1);
    expect(made.faults).toEqual([]);
    expect(made.watches).toHaveLength(1);
  });

  it('ends a wait at once', async () => {
    const made = start({ list: () => Promise.reject(new Error('refused')) });
    await pass(60_000);
    const tried = made.lists.length;
    made.reflection.close();
    expect(vi.getTimerCount()).toBe(0);
    await pass(120_000);
    expect(made.lists).toHaveLength(tried);
  });

  it('ends a list at once, which nobody waits for in vain', async () => {
    const made = start({ list: silence });
    await pass();
    const waiting = expect(made.reflection.whenSynced).rejects.toThrow('closed before the configmaps were listed');
    made.reflection.close();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
    expect(made.faults).toEqual([]);
  });
});
