/** `POST /v1/prompts/{id}/render`: what templates, variables, parameters and partials come to. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../conformance/stage.ts';
import { asking, OTHER_KEY, type PromptStage, partial, prompt, startPromptStage } from './stage.ts';

let stage: PromptStage;
beforeAll(async () => {
  stage = await startPromptStage();
});
afterAll(() => stage.close());

async function textOf(template: string, variables: object, partials = ''): Promise<unknown> {
  stage.become(prompt('p', { string: template }) + partials);
  return (await stage.rendered('p', variables))['prompt'];
}

describe('a template', () => {
  it.each<[template: string, variables: object, text: string]>([
    ['Hello {{name}}!', { name: 'Ann' }, 'Hello Ann!'],
    ['Hello {{ name }}!', { name: 'Ann' }, 'Hello Ann!'],
    ['{{{name}}} {{&name}}', { name: '<b>&"\'' }, '<b>&"\' <b>&"\''],
    ['{{name}}', { name: '<b>&"\'/`=' }, '<b>&"\'/`='],
    ['{{a}}{{b}}{{c}}', { a: 1, b: true, c: 0 }, '1true0'],
    ['[{{nobody}}]', {}, '[]'],
    ['[{{n}}]', { n: null }, '[]'],
    ['{{user.name.first}}', { user: { name: { first: 'Ann' } } }, 'Ann'],
    ['[{{user.name.last}}]', { user: { name: 'Ann' } }, '[]'],
    ['{{list}} {{object}}', { list: [1, 'a'], object: { a: { b: 1 } } }, '[1,"a"] {"a":{"b":1}}'],
    ['{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: true }, 'yes'],
    ['{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: false }, 'no'],
    ['{{#on}}yes{{/on}}{{^on}}no{{/on}}', {}, 'no'],
    ['{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: [] }, 'no'],
    ['{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: '' }, 'no'],
    ['{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: 0 }, 'no'],
    ['{{#items}}- {{.}}\n{{/items}}', { items: ['a', 'b'] }, '- a\n- b\n'],
    ['{{#items}}{{name}}={{of}};{{/items}}', { of: 'x', items: [{ name: 'a' }, { name: 'b', of: 'y' }] }, 'a=x;b=y;'],
    ['{{#user}}{{name}}{{/user}}', { user: { name: 'Ann' }, name: 'Ben' }, 'Ann'],
    ['{{#a}}{{#b}}{{c}}{{/b}}{{/a}}', { a: [{ b: [{ c: 1 }, { c: 2 }] }] }, '12'],
    ['{{#word}}[{{.}}]{{/word}}', { word: 'x' }, '[x]'],
    ['a{{! not said }}b', {}, 'ab'],
    ['{{#on}}\nyes\n{{/on}}\nend', { on: true }, 'yes\nend'],
    ['{"json": {{value}}} { {', { value: 1 }, '{"json": 1} { {'],
    ['{{ü.ß}} 日本 {{名}}', { ü: { ß: 'ä' }, 名: '前' }, 'ä 日本 前'],
    ['{{items.1}}', { items: ['a', 'b'] }, 'b'],
    ['\\{{a}} $& $1 {{a}}', { a: '$&' }, '\\$& $& $1 $&'],
  ])('%j with %j', async (template, variables, text) => {
    expect(await textOf(template, variables)).toBe(text);
  });

  it('gives variables as text, never as a template of their own', async () => {
    expect(await textOf('{{a}}', { a: '{{b}} {{>other}}', b: 'no' })).toBe('{{b}} {{>other}}');
  });
});

describe('a partial', () => {
  it('sees the variables of where it stands', async () => {
    const partials = partial('line', '{{name}} is {{age}}');
    expect(await textOf('{{#people}}{{>line}};{{/people}}', { age: 7, people: [{ name: 'a' }] }, partials)).toBe(
      'a is 7;',
    );
  });

  it('names others, eight levels deep', async () => {
    const chain = Array.from({ length: 8 }, (_, at) => partial(`p${at}`, at < 7 ? `${at}{{>p${at + 1}}}` : '7'));
    expect(await textOf('{{>p0}}', {}, chain.join(''))).toBe('01234567');
  });

  it('stands as deep as its tag where that is alone in its line', async () => {
    const partials = partial('block', 'a\nb\n');
    expect(await textOf('x:\n  {{>block}}\nend', {}, partials)).toBe('x:\n  a\n  b\nend');
    expect(await textOf('x: {{>block}}', {}, partials)).toBe('x: a\nb\n');
  });

  it('is the published version, unless another is named', async () => {
    const text = prompt('p', { string: '{{>tone}}, {{>tone@1}}, {{>tone@latest}}, {{>tone@calm}}' });
    stage.become(text + partial('tone', 'one', { labels: ['calm'] }), true);
    stage.become(text + partial('tone', 'two', { publish: false }), true);
    expect((await stage.rendered('p'))['prompt']).toBe('one, one, two, one');
  });
});

describe('the rendered request', () => {
  it('is the whole body, its strings filled in wherever they are', async () => {
    const tool = {
      type: 'function',
      function: { name: 'find_{{what}}', description: 'Finds {{what}}', parameters: { type: 'object' } },
    };
    stage.become(
      prompt('p', {
        model: 'gpt-4o',
        virtual_key: 'main',
        messages: [
          { role: 'system', content: 'You sell {{what}}.' },
          {
            role: 'user',
            name: '{{who}}',
            content: [
              { type: 'text', text: 'Look: {{what}}' },
              { type: 'image_url', image_url: { url: 'https://img.example/{{what}}.png', detail: 'low' } },
            ],
          },
        ],
        parameters: { temperature: 0.5, user: 'u-{{who}}', stop: ['{{what}}'], stream: true },
        tools: [tool],
        tool_choice: { type: 'function', function: { name: 'find_{{what}}' } },
      }),
    );
    expect(await stage.rendered('p', { what: 'shoes', who: 'ann' })).toEqual({
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: 'You sell shoes.' },
        {
          role: 'user',
          name: 'ann',
          content: [
            { type: 'text', text: 'Look: shoes' },
            { type: 'image_url', image_url: { url: 'https://img.example/shoes.png', detail: 'low' } },
          ],
        },
      ],
      temperature: 0.5,
      user: 'u-ann',
      stop: ['shoes'],
      tools: [
        {
          type: 'function',
          function: { name: 'find_shoes', description: 'Finds shoes', parameters: { type: 'object' } },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'find_shoes' } },
    });
  });

  it('keeps the type of a variable that is a whole parameter; in messages everything is text', async () => {
    const parameters = { temperature: '{{heat}}', logit_bias: '{{bias}}', seed: '{{nobody}}', stop: ['{{end}}', 'x'] };
    stage.become(prompt('p', asking('{{heat}}', { parameters })));
    const data = await stage.rendered('p', { heat: 0.5, bias: { 50256: -100 } });
    expect(data).toEqual({
      messages: [{ role: 'user', content: '0.5' }],
      temperature: 0.5,
      logit_bias: { 50256: -100 },
      stop: ['x'],
    });
  });

  it('takes what the root of the request says instead of what is stored', async () => {
    stage.become(prompt('p', asking('Hi {{name}}', { model: 'small', parameters: { temperature: 1, top_p: 0.5 } })));
    const root = { model: 'large', temperature: 0, stream: true, stream_options: { include_usage: true } };
    expect(await stage.rendered('p', { name: 'Ann' }, root)).toEqual({
      messages: [{ role: 'user', content: 'Hi Ann' }],
      ...root,
      top_p: 0.5,
    });
    const messages = [{ role: 'user', content: '{{name}}' }];
    expect((await stage.rendered('p', { name: 'Ann' }, { messages }))['messages']).toEqual(messages);
  });
});

describe('variables', () => {
  const variables = {
    name: { required: true, description: 'Whom to greet.' },
    tone: { default: 'kind' },
    places: { default: ['here', 'there'] },
    note: {},
  };
  const template = '{{name}}/{{tone}}/{{#places}}{{.}},{{/places}}/{{note}}';

  it.each<[given: object, text: string]>([
    [{ name: 'Ann' }, 'Ann/kind/here,there,/'],
    [{ name: '', tone: 'cold', places: [], note: 1 }, '/cold//1'],
    [{ name: 0, tone: null }, '0/kind/here,there,/'],
    [{ name: false }, 'false/kind/here,there,/'],
  ])('%j', async (given, text) => {
    stage.become(prompt('p', { string: template, variables }));
    expect((await stage.rendered('p', given))['prompt']).toBe(text);
  });

  it.each([{}, { tone: 'x' }, { name: null }])('400 names the one that is required and missing: %j', async (given) => {
    stage.become(prompt('p', { string: template, variables }));
    const failure = await failureOf(await stage.render('p', { variables: given }));
    expect(failure).toMatchObject({ status: 400, code: 'missing_variable', param: 'variables.name' });
    expect(failure.message).toContain('"p"');
  });

  it.each([
    [{}, 'missing_field'],
    [{ variables: 'x' }, 'invalid_value'],
    [{ variables: [] }, 'invalid_value'],
    [{ variables: null }, 'invalid_value'],
  ])('must be an object: %j', async (body, code) => {
    stage.become(prompt('p', { string: 'x' }));
    expect(await failureOf(await stage.render('p', body))).toMatchObject({ status: 400, code, param: 'variables' });
  });
});

describe('who may render', () => {
  it('a key with the scope prompts.render', async () => {
    stage.become(prompt('p', { string: 'x' }));
    const failure = await failureOf(await stage.render('p', { variables: {} }, stage.gateway.key));
    expect(failure).toMatchObject({ status: 403, code: 'missing_scope' });
    expect(await failureOf(await stage.render('p', { variables: {} }, 'wrong'))).toMatchObject({ status: 401 });
  });

  it('in its own workspace alone, and what is shared with it', async () => {
    stage.become(prompt('p', { string: 'mine' }));
    const failure = await failureOf(await stage.render('p', { variables: {} }, OTHER_KEY));
    expect(failure).toMatchObject({ status: 404, code: 'unknown_prompt' });
    const shared = { kind: 'Prompt', metadata: { name: 'house', namespace: 'model-gateway' } };
    const annotations = { 'modelgateway.dev/allowed-workspaces': 'other' };
    const text = `---\n${JSON.stringify({ ...shared, metadata: { ...shared.metadata, annotations }, apiVersion: 'modelgateway.dev/v1alpha1', spec: { string: 'ours' } })}\n`;
    stage.become(text);
    const answer = await (await stage.render('house', { variables: {} }, OTHER_KEY)).json();
    expect(answer).toEqual({ success: true, data: { prompt: 'ours' } });
    expect((await stage.render('house', { variables: {} })).status).toBe(404);
  });

  it("by no other name of what is another workspace's", async () => {
    stage.become(prompt('p', { string: 'mine' }));
    for (const reference of ['default/p', 'uid p', '../default/p'])
      expect((await stage.render(reference, { variables: {} }, OTHER_KEY)).status).toBe(404);
  });

  it('by POST alone', async () => {
    const response = await fetch(`${stage.gateway.origin}/v1/prompts/p/render`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('a reference', () => {
  it('is a version, the latest, or a label', async () => {
    stage.become(prompt('ref', { string: 'one', labels: ['production', 'both'] }));
    stage.become(prompt('ref', { string: 'two', labels: ['staging', 'both'] }));
    stage.become(prompt('ref', { string: 'three', publish: false, labels: ['beta.1'] }));
    const ways = {
      ref: 'two',
      'ref@default': 'two',
      'ref@1': 'one',
      'ref@2': 'two',
      'ref@3': 'three',
      'ref@latest': 'three',
    };
    const labels = { 'ref@production': 'one', 'ref@staging': 'two', 'ref@both': 'two', 'ref@beta.1': 'three' };
    for (const [reference, text] of Object.entries({ ...ways, ...labels }))
      expect([reference, (await stage.rendered(reference))['prompt']]).toEqual([reference, text]);
  });

  it.each(['ref@99', 'ref@0', 'ref@nobody', 'q', 'ref@', '@1', 'ref@1@2', 'toString', '__proto__', 'ref@toString'])(
    '404: %s',
    async (reference) => {
      stage.become(prompt('ref', { string: 'one' }));
      const failure = await failureOf(await stage.render(reference, { variables: {} }));
      expect(failure).toMatchObject({ status: 404, code: 'unknown_prompt', param: 'prompt_id' });
    },
  );

  it('to a prompt that was refused says why', async () => {
    stage.become(prompt('bad', { string: 'Hello {{name' }), true);
    const failure = await failureOf(await stage.render('bad', { variables: {} }));
    expect(failure).toMatchObject({ status: 404, code: 'unknown_prompt' });
    expect(failure.message).toContain('spec.string');
  });
});
