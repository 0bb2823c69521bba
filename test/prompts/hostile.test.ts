/** Templates and variables of people who mean harm: nothing but text comes out, and never much of it. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../conformance/stage.ts';
import { complaintsOf } from '../fakes/memory-world.ts';
import { type PromptStage, partial, prompt, startPromptStage } from './stage.ts';

let stage: PromptStage;
beforeAll(async () => {
  stage = await startPromptStage();
});
afterAll(() => stage.close());

async function textOf(template: string, variables: object | string): Promise<unknown> {
  stage.become(prompt('p', { string: template }));
  const body = typeof variables === 'string' ? `{"variables":${variables}}` : { variables };
  const answer = (await (await stage.render('p', body)).json()) as { data?: { prompt?: unknown } };
  return answer.data?.prompt;
}

const BORN = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'prototype', '__defineGetter__'];

describe('what every object has by birth', () => {
  it.each(BORN)('is no variable: %s', async (name) => {
    expect(
      await textOf(`[{{${name}}}{{a.${name}}}{{s.${name}}}{{l.${name}}}{{#a}}{{${name}}}{{/a}}]`, {
        a: {},
        s: 'x',
        l: [],
      }),
    ).toBe('[]');
    expect(await textOf(`{{#${name}}}yes{{/${name}}}{{^${name}}}no{{/${name}}}`, {})).toBe('no');
    expect(await textOf(`[{{${name}.${name}.name}}]`, {})).toBe('[]');
  });

  it("can be a variable's name where a request says so, but never a prototype", async () => {
    expect(await textOf('{{constructor}} {{a.toString}}', { constructor: 'Lego', a: { toString: 'text' } })).toBe(
      'Lego text',
    );
    const failure = await failureOf(await stage.render('p', '{"variables":{"__proto__":{"x":1}}}'));
    expect(failure).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('a string has no properties', async () => {
    expect(await textOf('[{{s.length}}{{s.0}}]', { s: 'abc' })).toBe('[]');
  });
});

describe('whatever the variables are', () => {
  it('a prompt without sections is its text with theirs in it', async () => {
    stage.become(prompt('p', { string: '<{{a}}|{{b.c}}>' }));
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()), async (a, c) => {
        expect((await stage.rendered('p', { a, b: { c } }))['prompt']).toBe(`<${a}|${String(c)}>`);
      }),
      { numRuns: 50 },
    );
  });

  it('the answer is a whole request, or a refusal', async () => {
    stage.become(
      prompt('p', { messages: [{ role: 'user', content: '{{#a}}{{b}}{{#c}}{{.}}{{/c}}{{/a}}{{^a}}{{c.d}}{{/a}}' }] }),
    );
    const fields = fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'd', ...BORN.filter((name) => name !== '__proto__')),
      fc.jsonValue({ maxDepth: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(fields, async (variables) => {
        const response = await stage.render('p', { variables });
        const body = (await response.json()) as {
          data?: { messages: { content: unknown }[] };
          error?: { code: string };
        };
        if (response.status === 200) expect(typeof body.data?.messages[0]?.content).toBe('string');
        else expect([response.status, body.error?.code]).toEqual([400, 'invalid_json']);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a prompt that is filled in', () => {
  const refused = { status: 400, code: 'prompt_too_large', param: 'variables' };

  it('has at most 1 MiB of text, over all of its strings', async () => {
    const half = 'x'.repeat(524_288);
    stage.become(
      prompt('p', {
        messages: [
          { role: 'user', content: '{{a}}' },
          { role: 'user', content: '{{b}}' },
        ],
      }),
    );
    expect((await stage.render('p', { variables: { a: half, b: half } })).status).toBe(200);
    expect(await failureOf(await stage.render('p', { variables: { a: half, b: `${half}x` } }))).toMatchObject(refused);
    stage.become(prompt('p', { string: '{{#l}}{{a}}{{/l}}' }));
    const list = Array.from({ length: 100 }, () => 1);
    expect(await failureOf(await stage.render('p', { variables: { a: 'x'.repeat(20_000), l: list } }))).toMatchObject(
      refused,
    );
    stage.become(prompt('p', { string: 'x', parameters: { a: '{{a}}', b: '{{a}}', c: '{{a}}' } }));
    const words = Array.from({ length: 60_000 }, () => 'words');
    expect(await failureOf(await stage.render('p', { variables: { a: words } }))).toMatchObject(refused);
  });

  it('walks a bounded number of items, also of those that say nothing', async () => {
    stage.become(prompt('p', { string: '{{#a}}{{#a}}{{#a}}{{/a}}{{/a}}{{/a}}' }));
    const startedMs = performance.now();
    const a = Array.from({ length: 1_000 }, () => 1);
    expect(await failureOf(await stage.render('p', { variables: { a } }))).toMatchObject(refused);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it('cannot be blown up by partials of partials', async () => {
    const bomb = Array.from({ length: 7 }, (_, at) => partial(`b${at}`, `{{>b${at + 1}}}`.repeat(30)));
    stage.become(prompt('p', { string: '{{>b0}}' }) + bomb.join('') + partial('b7', 'x'));
    expect(await failureOf(await stage.render('p', { variables: {} }))).toMatchObject(refused);
  });

  it('takes variables as deep as a body may be, and no deeper', async () => {
    stage.become(prompt('p', { string: '{{a}}' }));
    const deep = (levels: number) => `{"variables":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
    expect((await stage.render('p', deep(60))).status).toBe(200);
    expect(await failureOf(await stage.render('p', deep(63)))).toMatchObject({ status: 400, code: 'too_deep' });
  });
});

describe('partials that lead in a circle', () => {
  const refusalsOf = (text: string) =>
    complaintsOf(stage.gateway.apply(text, { allowComplaints: true })).filter((line) => line.includes('InvalidSpec'));

  it('are refused, with the circle; what they were before is served', async () => {
    const start = prompt('p', { string: '{{>a}}' }) + partial('a', 'A {{>b}}');
    stage.become(start + partial('b', 'B'));
    expect((await stage.rendered('p'))['prompt']).toBe('A B');
    stage.become(start + partial('b', 'B {{>a}}'), true);
    expect((await stage.rendered('p'))['prompt']).toBe('A B');
    expect(refusalsOf(start + partial('b', 'B {{>a}}'))).toEqual([
      'PromptPartial default/b: InvalidSpec: spec.string: {{>a}} leads back to itself: b > a@1 > b',
    ]);
  });

  it('of one, of two new ones, and of one that names an old version of itself', () => {
    expect(refusalsOf(partial('me', '{{>me}}'))).toHaveLength(1);
    expect(refusalsOf(partial('x1', '{{>y1}}') + partial('y1', '{{>x1}}')).length).toBeGreaterThanOrEqual(1);
    refusalsOf(partial('v', 'one'));
    expect(refusalsOf(partial('v', 'two {{>v@1}}'))).toEqual([]);
  });

  it('are refused beyond eight levels', () => {
    const chain = Array.from({ length: 9 }, (_, at) => partial(`d${at}`, at < 8 ? `{{>d${at + 1}}}` : 'end'));
    expect(refusalsOf(prompt('deep', { string: '{{>d0}}' }) + chain.join(''))).toEqual(
      expect.arrayContaining([expect.stringContaining('leads more than 8 partials deep')]),
    );
  });
});
