/** Conditions: what a query can look at, what each operator says of each kind of value, and of a missing one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, config } from '../../fakes/objects.ts';
import { chat } from '../../fakes/replies.ts';
import type { Upstream } from '../../fakes/upstream.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { askBy, CHAT, CHAT_STREAM, good, refusalOf, targetOf, WAYS } from './ways.ts';

type Query = Readonly<Record<string, unknown>>;
type Case = readonly [query: Query, seen: object, matches: boolean];

/** `seen`: fields of the body. */
const PARAMS: readonly Case[] = [
  [{ 'params.seed': 5 }, { seed: 5 }, true],
  [{ 'params.seed': '5' }, { seed: 5 }, false],
  [{ 'params.x': 5 }, { x: '5' }, false],
  [{ 'params.x': true }, { x: true }, true],
  [{ 'params.x': true }, { x: 'true' }, false],
  [{ 'params.x': false }, {}, false],
  [{ 'params.x': null }, { x: null }, true],
  [{ 'params.x': null }, {}, false],
  [{ 'params.x': { $ne: null } }, {}, true],
  [{ 'params.x': { $ne: 1 } }, { x: '1' }, true],
  [{ 'params.x': { $ne: 1 } }, { x: 1 }, false],
  [{ 'params.x': '' }, { x: '' }, true],
  [{ 'params.x': '' }, {}, false],
  [{ 'params.a.b.c': 'x' }, { a: { b: { c: 'x' } } }, true],
  [{ 'params.a.b.c': 'x' }, { a: { b: 'x' } }, false],
  [{ 'params.messages.0.content': 'Hi' }, {}, true],
  [{ 'params.messages.1.content': 'Hi' }, {}, false],
  [{ 'params.messages.0.content': { $regex: '(?i)^hI$' } }, {}, true],
  [{ 'params.x': { $in: [1, '2', null, true] } }, { x: 1 }, true],
  [{ 'params.x': { $in: [1, '2', null, true] } }, { x: 2 }, false],
  [{ 'params.x': { $in: [1, '2', null, true] } }, { x: null }, true],
  [{ 'params.x': { $in: [null] } }, {}, false],
  [{ 'params.x': { $nin: [null] } }, {}, true],
  [{ 'params.x': { $in: ['a'] } }, { x: ['a'] }, false],
  [{ 'params.x': { $nin: ['a'] } }, { x: ['a'] }, true],
  [{ 'params.x': { $in: [] } }, { x: 'a' }, false],
  [{ 'params.x': { $nin: [] } }, { x: 'a' }, true],
  [{ 'params.x': { $gt: 1 } }, { x: 1.5 }, true],
  [{ 'params.x': { $gt: -1 } }, { x: 0 }, true],
  [{ 'params.x': { $gt: 1 } }, { x: '2' }, false],
  [{ 'params.x': { $lt: 1 } }, { x: null }, false],
  [{ 'params.x': { $lt: 1 } }, { x: false }, false],
  [{ 'params.x': { $lt: 1 } }, {}, false],
  [{ 'params.x': { $lte: 1 } }, {}, false],
  [{ 'params.x': { $gte: 0 } }, {}, false],
  [{ 'params.x': { $gte: 1e3 } }, { x: 1000 }, true],
  [{ 'params.x': { $regex: '1' } }, { x: 1 }, false],
  [{ 'params.x': { $regex: '' } }, { x: '' }, true],
  [{ 'params.x': { $regex: 'é$' } }, { x: 'café' }, true],
  [{ 'params.x': { $regex: '^a.c$' } }, { x: 'a\nc' }, false],
  [{ 'params.x': { $regex: '(?s)^a.c$' } }, { x: 'a\nc' }, true],
  [{ 'params.x': { $regex: '(?m)^b$' } }, { x: 'a\nb' }, true],
  [{ 'params.x': { $regex: '\\p{Greek}+' } }, { x: 'α' }, true],
  [{ 'params.x': { $regex: 'ab', $ne: 'cabc', $in: ['ab', 'cabc'] } }, { x: 'cabc' }, false],
  [{ 'params.x': { $regex: 'ab', $ne: 'ab', $in: ['ab', 'cabc'] } }, { x: 'cabc' }, true],
  [{ 'params.constructor': { $ne: 'x' }, 'params.toString': { $nin: ['x'] } }, {}, true],
  [{ 'params.constructor.name': 'Object' }, {}, false],
  [{ $and: [{ 'params.x': 1 }, { $or: [{ 'params.y': 1 }, { 'params.z': 1 }] }] }, { x: 1, z: 1 }, true],
  [{ $and: [{ 'params.x': 1 }, { $or: [{ 'params.y': 1 }, { 'params.z': 1 }] }] }, { z: 1, y: 1 }, false],
  [{ $or: [{ 'params.x': 1, 'params.y': 1 }, { 'params.z': 1 }] }, { x: 1 }, false],
  [{ $or: [{ 'params.x': 1 }], 'params.y': 1 }, { x: 1 }, false],
  [{ $or: [{ 'params.x': 1 }], $and: [{ 'params.y': 1 }], 'params.z': 1 }, { x: 1, y: 1, z: 1 }, true],
];

/** `seen`: the request's metadata. */
const METADATA: readonly Case[] = [
  [{ 'metadata.n': { $gt: 9 } }, { n: '10' }, true],
  [{ 'metadata.n': { $gt: 9 } }, { n: 10 }, true],
  [{ 'metadata.n': { $lte: -1.5 } }, { n: '-1.5' }, true],
  [{ 'metadata.n': { $gte: 1000 } }, { n: '1e3' }, true],
  [{ 'metadata.n': { $gt: 9 } }, { n: 'ten' }, false],
  [{ 'metadata.n': { $gte: 0 } }, { n: '' }, false],
  [{ 'metadata.n': { $gte: 0 } }, { n: '0x10' }, false],
  [{ 'metadata.n': 5 }, { n: '5' }, true],
  [{ 'metadata.n': 5 }, { n: 5 }, true],
  [{ 'metadata.n': '5' }, { n: 5 }, true],
  [{ 'metadata.paid': true }, { paid: 'true' }, true],
  [{ 'metadata.paid': true }, { paid: true }, true],
  [{ 'metadata.paid': { $in: [true, 'yes'] } }, { paid: 'yes' }, true],
  [{ 'metadata.a.b': 'x' }, { 'a.b': 'x' }, true],
  [{ 'metadata.tier': 'Gold' }, { tier: 'gold' }, false],
  [{ 'metadata.tier': { $regex: '(?i)^gold$' } }, { tier: 'GOLD' }, true],
  [{ 'metadata.constructor': { $regex: '.*' } }, {}, false],
  [{ 'metadata.__proto__': { $ne: 'x' } }, {}, true],
  [{ 'metadata.tier': { $nin: ['gold', 'silver'] } }, { tier: 'bronze' }, true],
];

let stage: Stage;

function choosing(upstreams: readonly Upstream[], query: object, wire: 'openai' | 'anthropic' = 'openai'): object {
  const [yes, no] = upstreams as [Upstream, Upstream];
  return {
    strategy: { mode: 'conditional', conditions: [{ query, then: 'yes' }], default: 'no' },
    targets: [targetOf(wire, no, { name: 'no' }), targetOf(wire, yes, { name: 'yes' })],
  };
}

const KEY = 'the-key-of-a-team-0123';

beforeAll(async () => {
  stage = await startStage(2, (upstreams) =>
    [
      ...PARAMS.map(([query], index) => config(`params-${index}`, choosing(upstreams, query))),
      ...METADATA.map(([query], index) => config(`metadata-${index}`, choosing(upstreams, query))),
      config('of-key', choosing(upstreams, { 'metadata.team': 'a' })),
      config('of-user', choosing(upstreams, { 'metadata._user': 'u-1' })),
      config('streams', choosing(upstreams, { 'params.stream': true })),
      config('messages', choosing(upstreams, { 'params.system': 'be brief', 'params.max_tokens': 16 }, 'anthropic')),
      config('path', choosing(upstreams, { 'url.pathname': '/v1/messages' }, 'anthropic')),
      config('chat-path', choosing(upstreams, { 'url.pathname': { $in: ['/v1/chat/completions'] } })),
      config('embed-path', choosing(upstreams, { 'url.pathname': { $regex: 'embed' } })),
      config('slow', choosing(upstreams, { 'params.x': { $regex: '^(a+)+$' } })),
      apiKey('team', KEY, { defaults: { metadata: { team: 'a' } } }),
    ].join(''),
  );
});
afterAll(() => stage.close());

const YES = 'config.targets[1]';
const NO = 'config.targets[0]';
const show = (value: object) => JSON.stringify(value);

describe('a query on the body', () => {
  it.each(PARAMS.map(([query, seen, matches], index) => [show(query), show(seen), matches, index, seen] as const))(
    '%s of %s: %s',
    async (_query, _seen, matches, index, body) => {
      const { path, calls } = await askBy(stage, CHAT, `params-${index}`, { body });
      expect(path).toBe(matches ? YES : NO);
      expect(calls).toEqual(matches ? [1, 0] : [0, 1]);
    },
  );

  it('tells streams from others', async () => {
    stage.at(0).answer(good(CHAT_STREAM));
    expect((await askBy(stage, CHAT_STREAM, 'streams')).path).toBe(YES);
    stage.at(0).answer(chat());
    expect((await askBy(stage, CHAT, 'streams')).path).toBe(NO);
  });

  it.each(WAYS.filter(([, { wire }]) => wire === 'anthropic'))('sees the caller’s own words on %s', async (_n, way) => {
    for (const upstream of stage.upstreams) upstream.answer(good(way));
    expect((await askBy(stage, way, 'messages', { body: { system: 'be brief' } })).path).toBe(YES);
    expect((await askBy(stage, way, 'messages', { body: { system: 'be long' } })).path).toBe(NO);
    for (const upstream of stage.upstreams) upstream.answer(chat());
  });

  it('with a costly pattern is no cost', async () => {
    const startedMs = performance.now();
    const { path } = await askBy(stage, CHAT, 'slow', { body: { x: `${'a'.repeat(16_000)}b` } });
    expect(path).toBe(NO);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});

describe('a query on metadata', () => {
  it.each(METADATA.map(([query, seen, matches], index) => [show(query), show(seen), matches, index] as const))(
    '%s of %s: %s',
    async (_query, seen, matches, index) => {
      const { path } = await askBy(stage, CHAT, `metadata-${index}`, { headers: { 'x-gateway-metadata': seen } });
      expect(path).toBe(matches ? YES : NO);
    },
  );

  it('sees the key’s, which wins over the request’s', async () => {
    const asking = (headers: Record<string, string>) => askBy(stage, CHAT, 'of-key', { headers });
    expect((await asking({})).path).toBe(NO);
    expect((await asking({ 'x-gateway-api-key': KEY })).path).toBe(YES);
    expect((await asking({ 'x-gateway-api-key': KEY, 'x-gateway-metadata': '{"team":"b"}' })).path).toBe(YES);
    expect((await asking({ 'x-gateway-metadata': '{"team":"a"}' })).path).toBe(YES);
  });

  it('sees the body’s user as _user, unless the caller sent one', async () => {
    expect((await askBy(stage, CHAT, 'of-user', { body: { user: 'u-1' } })).path).toBe(YES);
    expect((await askBy(stage, CHAT, 'of-user', { body: { user: 'u-2' } })).path).toBe(NO);
    const headers = { 'x-gateway-metadata': '{"_user":"u-1"}' };
    expect((await askBy(stage, CHAT, 'of-user', { body: { user: 'u-2' }, headers })).path).toBe(YES);
  });
});

describe('a query on the path', () => {
  const post = async (path: string, name: string, body: object) => {
    const response = await stage.gateway.post(path, body, { 'x-gateway-config': name });
    await response.text();
    return response.headers.get('x-gateway-last-used-option-index');
  };
  const messages = [{ role: 'user', content: 'Hi' }];
  it.each([
    ['/v1/messages', 'path', { model: 'm', messages, max_tokens: 5 }, YES],
    ['/v1/messages?beta=true', 'path', { model: 'm', messages, max_tokens: 5 }, YES],
    ['/v1/chat/completions', 'path', { model: 'm', messages }, NO],
    ['/v1/chat/completions', 'chat-path', { model: 'm', messages }, YES],
    ['/v1/chat/completions?a=b', 'chat-path', { model: 'm', messages }, YES],
    ['/v1/embeddings', 'embed-path', { model: 'm', input: 'x' }, YES],
    ['/v1/completions', 'embed-path', { model: 'm', prompt: 'x' }, NO],
  ])('%s through %s', async (path, name, body, expected) => {
    expect(await post(path, name, body)).toBe(expected);
  });
});

describe('a config is refused', () => {
  const sim = (name: string) => ({ provider: 'simulator', name });
  const asking = (query: unknown) => ({
    strategy: { mode: 'conditional', conditions: [{ query, then: 'a' }], default: 'a' },
    targets: [sim('a')],
  });
  const strategy = (more: object, targets: readonly object[] = [sim('a')]) => ({
    strategy: { mode: 'conditional', conditions: [{ query: { 'params.a': 1 }, then: 'a' }], default: 'a', ...more },
    targets,
  });
  it.each([
    ['an unknown operator', asking({ 'params.a': { $exists: true } }), '$exists'],
    ['an unknown logic', asking({ $not: [{ 'params.a': 1 }] }), '$not'],
    ['$nor', asking({ $nor: [{ 'params.a': 1 }] }), '$nor'],
    ['an unknown key', asking({ 'headers.a': 1 }), 'headers.a'],
    ['a key without a source', asking({ model: 'x' }), 'model'],
    ['a source without a key', asking({ 'params.': 1 }), 'params.'],
    ['url.path', asking({ 'url.path': '/' }), 'url.path'],
    ['an empty query', asking({}), 'query'],
    ['an empty condition', asking({ 'params.a': {} }), 'params.a'],
    ['an empty $or', asking({ $or: [] }), '$or'],
    ['$and of no array', asking({ $and: { 'params.a': 1 } }), '$and'],
    ['a bare array', asking({ 'params.a': [1, 2] }), 'params.a'],
    ['$in of no array', asking({ 'params.a': { $in: 'x' } }), '$in'],
    ['$gt of text', asking({ 'params.a': { $gt: '5' } }), '$gt'],
    ['$lte of null', asking({ 'params.a': { $lte: null } }), '$lte'],
    ['$regex of a number', asking({ 'params.a': { $regex: 5 } }), '$regex'],
    ['a lookahead', asking({ 'params.a': { $regex: '(?=x)' } }), '$regex'],
    ['a lookbehind', asking({ 'params.a': { $regex: '(?<!x)y' } }), '$regex'],
    ['a backreference', asking({ 'params.a': { $regex: '(a)\\1' } }), '$regex'],
    ['an open group', asking({ 'params.a': { $regex: '(' } }), '$regex'],
    ['repeats without end', asking({ 'params.a': { $regex: '((a{100}){100}){100}' } }), '$regex'],
    ['metadata that is null', asking({ 'metadata.a': null }), 'metadata.a'],
    ['no default', strategy({ default: undefined }), 'default'],
    ['no conditions', strategy({ conditions: undefined }), 'conditions'],
    ['an empty list of conditions', strategy({ conditions: [] }), 'conditions'],
    ['a default that no target is called', strategy({ default: 'b' }), 'default'],
    ['a then that no target is called', strategy({ conditions: [{ query: { 'params.a': 1 }, then: 'b' }] }), 'then'],
    ['a condition without then', strategy({ conditions: [{ query: { 'params.a': 1 } }] }), 'then'],
    ['a condition without query', strategy({ conditions: [{ then: 'a' }] }), 'query'],
    ['two targets of one name', strategy({}, [sim('a'), sim('a')]), 'name'],
    [
      'a then that names a target further down',
      strategy({ default: 'deep' }, [sim('a'), { name: 'b', strategy: { mode: 'single' }, targets: [sim('deep')] }]),
      'default',
    ],
  ])('with %s', async (_what, spec, named) => {
    expect(await refusalOf(stage, spec)).toContain(named);
    const statuses = stage.gateway.apply(stage.manifests + config('refused', spec), { allowComplaints: true });
    expect(statuses.find(({ name }) => name === 'refused')?.served).toBe('none');
  });
});

describe('default', () => {
  it('is taken by name, wherever its target stands', async () => {
    const [first, second] = stage.upstreams as [Upstream, Upstream];
    const conditions = [{ query: { 'params.x': 1 }, then: 'a' }];
    stage.gateway.apply(
      config('last', {
        strategy: { mode: 'conditional', conditions, default: 'b' },
        targets: [target(first, { name: 'a' }), target(second, {}), target(second, { name: 'b' })],
      }),
    );
    expect((await askBy(stage, CHAT, 'last')).path).toBe('config.targets[2]');
    expect((await askBy(stage, CHAT, 'last', { body: { x: 1 } })).path).toBe('config.targets[0]');
  });
});
