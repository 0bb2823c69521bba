/** Versions in a cluster: an operator that dies after any write, and others that write at the same moment. */
import { describe, expect, it } from 'vitest';
import { pass } from '../crds/api/virtual-time.ts';
import { resourceOf } from '../operator/faults/outcome.ts';
import { openStage, type Stage, useStages } from '../operator/faults/stage.ts';
import { custom } from '../operator/faults/workload.ts';

useStages();

const PROMPTS = resourceOf('Prompt');
const VERSIONS = resourceOf('PromptVersion');
const RECOVERY_MS = 22_000;
const EDITS = [
  { string: 'one', labels: ['production'] },
  { string: 'two {{>sign}}' },
  { string: 'two {{>sign}}', labels: ['staging'] },
  { string: 'three', publish: false },
  { string: 'three' },
];

interface Version {
  readonly text: string;
  readonly isPublished: boolean;
  readonly labels: string;
}

function versionsOf({ server }: Stage, prompt: string): Record<string, Version> {
  const objects = server.list(VERSIONS).filter(({ spec }) => (spec as { readonly prompt: string }).prompt === prompt);
  return Object.fromEntries(
    objects
      .map(({ metadata: { name, annotations = {} }, spec }): [string, Version] => {
        const { content } = spec as { content: string };
        const isPublished = annotations['modelgateway.dev/published'] === 'true';
        return [
          name,
          { text: JSON.parse(content).string, isPublished, labels: annotations['modelgateway.dev/labels'] ?? '' },
        ];
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

const EXPECTED = {
  'prompt.p.v1': { text: 'one', isPublished: true, labels: 'production' },
  'prompt.p.v2': { text: 'two {{>sign}}', isPublished: true, labels: 'staging' },
  'prompt.p.v3': { text: 'three', isPublished: true, labels: '' },
};

/** `death`: the write of a process after which it dies; another one follows. */
async function work(death: number | undefined): Promise<{ stage: Stage; writes: number }> {
  const stage = openStage({ gateways: 1 });
  let run = stage.start();
  let isDead = false;
  let writes = 0;
  stage.server.onWrite(({ who }) => {
    if (isDead || who !== run.identity) return;
    writes += 1;
    if (writes === death) {
      isDead = true;
      run.crash();
    }
  });
  const step = async () => {
    await pass(4_000);
    if (!isDead) return;
    run = stage.start();
    isDead = false;
    await pass(RECOVERY_MS);
  };
  await step();
  stage.server.apply(custom('PromptPartial', 'team-a/sign', { string: 'Ann' }));
  for (const spec of EDITS) {
    stage.server.apply(custom('Prompt', 'team-a/p', spec));
    await step();
  }
  await step();
  return { stage, writes };
}

describe('an operator', () => {
  it('makes one version for each change, with its owner, and marks what is published', async () => {
    const { stage } = await work(undefined);
    expect(versionsOf(stage, 'p')).toEqual(EXPECTED);
    const [prompt] = stage.server.list(PROMPTS);
    for (const { metadata } of stage.server
      .list(VERSIONS)
      .filter(({ metadata: { name } }) => name.startsWith('prompt.p.')))
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'Prompt', name: 'p', uid: prompt?.metadata.uid }]);
    expect(prompt?.['status']).toMatchObject({ live_version: 3, latest_version: 3 });
  });

  it('that dies after any of its writes leaves the same', async () => {
    const { writes } = await work(undefined);
    for (let death = 2; death <= Math.min(writes, 40); death += 3) {
      const { stage } = await work(death);
      const { 'prompt.p.v2': second, ...others } = versionsOf(stage, 'p');
      expect([death, others, second?.text]).toEqual([
        death,
        { 'prompt.p.v1': EXPECTED['prompt.p.v1'], 'prompt.p.v3': EXPECTED['prompt.p.v3'] },
        'two {{>sign}}',
      ]);
      await stage.close();
    }
  });

  it('counts on where somebody else took the number', async () => {
    const stage = openStage({ gateways: 1 });
    stage.start();
    stage.server.apply(custom('Prompt', 'team-a/p', { string: 'one' }));
    await stage.settle();
    const [prompt] = stage.server.list(PROMPTS);
    const spec = { kind: 'Prompt', prompt: 'p', version: 2, content: '{"string":"draft"}', created_by: 'api' };
    const draft = custom('PromptVersion', 'team-a/prompt.p.v2', spec);
    const ownerReferences = [
      { apiVersion: draft.apiVersion, kind: 'Prompt', name: 'p', uid: prompt?.metadata.uid ?? '', controller: true },
    ];
    stage.server.apply([
      { ...draft, metadata: { ...draft.metadata, ownerReferences } },
      custom('Prompt', 'team-a/p', { string: 'two' }),
    ]);
    await stage.settle();
    expect(Object.entries(versionsOf(stage, 'p')).map(([name, { text }]) => [name, text])).toEqual([
      ['prompt.p.v1', 'one'],
      ['prompt.p.v2', 'draft'],
      ['prompt.p.v3', 'two'],
    ]);
    const [served] = stage.server.list(PROMPTS);
    expect(served?.['status']).toMatchObject({ live_version: 3, latest_version: 3 });
  });

  it('gives a prompt that is made anew versions of its own', async () => {
    const stage = openStage({ gateways: 1 });
    stage.start();
    stage.server.apply(custom('Prompt', 'team-a/p', { string: 'old' }));
    await stage.settle();
    stage.server.delete(PROMPTS, 'team-a', 'p');
    stage.server.apply(custom('Prompt', 'team-a/p', { string: 'new' }));
    await stage.settle();
    const texts = Object.values(versionsOf(stage, 'p')).map(({ text }) => text);
    expect(texts.at(-1)).toBe('new');
    const [prompt] = stage.server.list(PROMPTS);
    const { latest_version: latest } = Object(prompt?.['status']) as { readonly latest_version?: number };
    expect(versionsOf(stage, 'p')[`prompt.p.v${latest}`]?.text).toBe('new');
  });
});
