/** The kinds of prompts on a real API server: what it takes, refuses and keeps. */
import { beforeAll, expect, it } from 'vitest';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';

const API = 'modelgateway.dev/v1alpha1';
let namespace = '';

const kubectl = (...args: string[]) => cluster().kubectl(['-n', namespace, ...args]);
const apply = (kind: string, name: string, spec: object) => {
  const manifest = JSON.stringify({ apiVersion: API, kind, metadata: { name }, spec });
  return cluster().kubectl(['apply', '-n', namespace, '-f', '-'], manifest);
};
const VERSION = { kind: 'Prompt', prompt: 'p', version: 1, content: '{"string":"Hi"}', created_by: 'manifest' };

describeCluster('prompts on a real API server', () => {
  beforeAll(async () => {
    await cluster().installCrds();
    namespace = await cluster().namespace('prompts');
  });

  it('a version never changes, but for what is noted on it', async () => {
    await apply('PromptVersion', 'prompt.p.v1', VERSION);
    for (const change of [{ content: '{"string":"Bye"}' }, { version: 2 }, { description: 'Other.' }])
      await expect(apply('PromptVersion', 'prompt.p.v1', { ...VERSION, ...change })).rejects.toThrow(/never changes/);
    await kubectl('annotate', 'gpv', 'prompt.p.v1', 'modelgateway.dev/published=true');
    await apply('PromptVersion', 'prompt.p.v1', VERSION);
    expect(await kubectl('get', 'gpv', 'prompt.p.v1', '-o', 'jsonpath={.spec.content}')).toBe(VERSION.content);
  });

  it('a prompt keeps messages, tools and defaults of every shape', async () => {
    const spec = {
      messages: [
        { role: 'system', content: 'Be {{tone}}.' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: '{{url}}' } }], name: 'u' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
      tool_choice: 'auto',
      parameters: { temperature: 0.5, stop: ['{{end}}'] },
      variables: { tone: { default: ['kind', 1, true] }, url: { required: true } },
    };
    await apply('Prompt', 'whole', spec);
    const stored = JSON.parse(await kubectl('get', 'gpr', 'whole', '-o', 'json')) as { spec: object };
    const variables = { tone: { ...spec.variables.tone, required: false }, url: spec.variables.url };
    expect(stored.spec).toEqual({ ...spec, variables, publish: true });
  });

  it.each<[spec: object, problem: RegExp]>([
    [{}, /exactly one of them/],
    [{ string: 'x', messages: [{ role: 'user' }] }, /exactly one of them/],
    [{ string: 'x', temperature: 1 }, /unknown field "spec\.temperature"/],
    [{ string: 'x', variables: { a: { required: 'yes' } } }, /spec\.variables\.a\.required/],
  ])('refuses a prompt with %j', async (spec, problem) => {
    await expect(apply('Prompt', 'bad', spec)).rejects.toThrow(problem);
  });
});
