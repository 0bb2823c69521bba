/** Versions: one for each change of a prompt, made before it is served, never changed, and found again by whoever starts anew. */
import { describe, expect, it } from 'vitest';
import { compile } from '#operator/compile/compile.ts';
import { readChoice, readLabelChoices, writeChoice, writeLabelChoices } from '#operator/compile/prompt-publication.ts';
import { conditionOf } from '#operator/compile/status.ts';
import type { Manifest } from '#operator/world.ts';
import { object } from '../fakes/objects.ts';
import { annotated, withVersions } from '../fakes/written-versions.ts';
import { TOOLS, worldOf } from '../operator/worlds.ts';

/** An operator that starts anew for every pass: it knows what is stored, and nothing else. */
class Passes {
  versions: readonly Manifest[] = [];

  /** What there is once everything is written: it takes two passes at most. */
  settle(text: string) {
    for (let passes = 0; passes < 3; passes += 1) {
      const compiled = this.pass(text);
      const { lacking, unmarked } = compiled.versions;
      if (lacking.length + unmarked.length === 0) return compiled;
      this.versions = withVersions(this.versions, compiled.versions);
    }
    throw new Error('it never settles');
  }

  pass(text: string) {
    const world = worldOf({ 'a.yaml': text });
    return compile({ ...world, manifests: [...world.manifests, ...this.versions] }, new Map(), TOOLS);
  }

  /** Version by label; `live` and `latest` among them. */
  published(text: string): Record<string, number | undefined> {
    const [record] = this.settle(text).snapshot.prompts;
    return { live: record?.live, latest: record?.latest, ...record?.labels };
  }

  texts(): unknown[] {
    return this.versions.map(({ raw }) => {
      const { content } = raw['spec'] as { content: string };
      return (JSON.parse(content) as { string: unknown }).string;
    });
  }
}

const prompt = (string: string, more: object = {}, annotations: Record<string, string> = {}) =>
  object('Prompt', 'p', { string, ...more }, { annotations });
const pinned = (choice: string) => ({ 'modelgateway.dev/published-version': choice });
const labelled = (choices: string) => ({ 'modelgateway.dev/version-labels': choices });

describe('a version', () => {
  it('is made of each change of the content, and of nothing else', () => {
    const passes = new Passes();
    const edits = [
      prompt('one'),
      prompt('one', { name: 'A name', version_description: 'Said again.', collection_id: 'c' }),
      prompt('two', { version_description: 'Better.' }),
      prompt('two'),
      prompt('one'),
    ];
    for (const edit of edits) passes.settle(edit);
    expect(passes.texts()).toEqual(['one', 'two', 'one']);
    expect(
      passes.versions.map(({ name, raw }) => [name, (raw['spec'] as { description?: string }).description]),
    ).toEqual([
      ['prompt.p.v1', undefined],
      ['prompt.p.v2', 'Better.'],
      ['prompt.p.v3', undefined],
    ]);
  });

  it.each([
    { model: 'm' },
    { virtual_key: 'k' },
    { provider: '@k' },
    { parameters: { temperature: 1 } },
    { tools: [{ type: 'function' }] },
    { functions: [{ name: 'f' }] },
    { tool_choice: 'auto' },
    { variables: { a: { required: true } } },
  ])('is made of a change of %j', (more) => {
    const passes = new Passes();
    passes.settle(prompt('x'));
    passes.settle(prompt('x', more));
    expect(passes.versions).toHaveLength(2);
  });

  it('does not depend on the order of keys', () => {
    const passes = new Passes();
    passes.settle(prompt('x', { parameters: { a: 1, b: { c: 1, d: 2 } } }));
    passes.settle(prompt('x', { parameters: { b: { d: 2, c: 1 }, a: 1 } }));
    expect(passes.versions).toHaveLength(1);
  });

  it('is not served before it is stored, and says so', () => {
    const passes = new Passes();
    const first = passes.pass(prompt('one'));
    expect([first.snapshot.prompts, first.versions.lacking.map(({ name }) => name)]).toEqual([[], ['prompt.p.v1']]);
    const [status] = first.statuses;
    expect(status && conditionOf(status, 'ResolvedRefs')).toMatchObject({ status: 'False', reason: 'VersionPending' });
    expect(status?.served).toBe('none');
    passes.settle(prompt('one'));
    const edited = passes.pass(prompt('two'));
    expect(edited.snapshot.prompts).toMatchObject([{ live: 1, latest: 1 }]);
    expect(edited.statuses[0]?.served).toBe('last-good');
    const settled = passes.settle(prompt('two'));
    expect(settled.snapshot.prompts).toMatchObject([{ live: 2, latest: 2 }]);
    expect(settled.statuses[0]).toMatchObject({ served: 'current', fields: { live_version: 2, latest_version: 2 } });
  });

  it('of an edit that is refused is none', () => {
    const passes = new Passes();
    passes.settle(prompt('one'));
    expect(passes.settle(prompt('{{#two')).snapshot.prompts).toEqual([]);
    expect(passes.versions).toHaveLength(1);
    const valid = passes.settle(prompt('one'));
    const world = worldOf({ 'a.yaml': prompt('{{#two') });
    const { snapshot, versions } = compile(
      { ...world, manifests: [...world.manifests, ...passes.versions] },
      valid.lastGood,
      TOOLS,
    );
    expect([snapshot.prompts.map(({ live }) => live), versions.lacking]).toEqual([[1], []]);
  });

  it('whose name is not that of its number is refused, and counts for nothing', () => {
    const spec = { kind: 'Prompt', prompt: 'p', version: 7, content: '{"string":"x"}', created_by: 'manifest' };
    const passes = new Passes();
    const { statuses, snapshot } = passes.settle(prompt('one') + object('PromptVersion', 'prompt.p.v8', spec));
    expect(snapshot.prompts).toMatchObject([{ live: 1, latest: 1 }]);
    const refused = statuses.find(({ name }) => name === 'prompt.p.v8');
    expect(refused && conditionOf(refused, 'Accepted')).toMatchObject({
      reason: 'InvalidSpec',
      message: expect.stringContaining('prompt.p.v7'),
    });
  });

  it('of an object that is gone is kept, unserved, and counts again when it comes back', () => {
    const passes = new Passes();
    passes.settle(prompt('one'));
    const gone = passes.settle('');
    expect([gone.snapshot.prompts, gone.snapshot.prompt_versions, passes.versions.length]).toEqual([[], [], 1]);
    expect(passes.published(prompt('two'))).toEqual({ live: 2, latest: 2 });
  });

  it("of another object of the same name is not this one's, but has its number", () => {
    const passes = new Passes();
    passes.settle(prompt('theirs'));
    passes.versions = passes.versions.map((version) => {
      const metadata = {
        ...(version.raw['metadata'] as object),
        ownerReferences: [{ apiVersion: 'v1', kind: 'Prompt', name: 'p', uid: 'old' }],
      };
      return { ...version, raw: { ...version.raw, metadata } };
    });
    const world = worldOf({ 'a.yaml': prompt('mine') });
    const mine = world.manifests.map((one) => ({ ...one, uid: 'new' }));
    const { versions, snapshot } = compile({ ...world, manifests: [...mine, ...passes.versions] }, new Map(), TOOLS);
    expect(versions.lacking.map(({ name }) => name)).toEqual(['prompt.p.v2']);
    expect(snapshot.prompt_versions).toEqual([]);
  });
});

describe('what is published', () => {
  it('is the last edit, unless it says publish: false', () => {
    const passes = new Passes();
    expect(passes.published(prompt('one'))).toEqual({ live: 1, latest: 1 });
    expect(passes.published(prompt('two', { publish: false }))).toEqual({ live: 1, latest: 2 });
    expect(passes.published(prompt('three', { publish: false }))).toEqual({ live: 1, latest: 3 });
    expect(passes.published(prompt('three'))).toEqual({ live: 3, latest: 3 });
    expect(passes.published(prompt('three', { publish: false }))).toEqual({ live: 3, latest: 3 });
    expect(passes.published(prompt('four', { publish: false }))).toEqual({ live: 3, latest: 4 });
    expect(passes.versions).toHaveLength(4);
  });

  it('is never a draft, not even while the version of a later edit is being made', () => {
    const passes = new Passes();
    for (const edit of [prompt('one'), prompt('draft', { publish: false })]) passes.settle(edit);
    expect(passes.pass(prompt('three')).snapshot.prompts).toMatchObject([{ live: 1, latest: 2 }]);
    expect(passes.published(prompt('three'))).toEqual({ live: 3, latest: 3 });
  });

  it('is nothing where nothing ever was', () => {
    expect(new Passes().published(prompt('one', { publish: false }))).toEqual({ live: undefined, latest: 1 });
  });

  it('stays what a way back made of it', () => {
    const passes = new Passes();
    for (const text of ['good', 'bad', 'good']) passes.settle(prompt(text));
    expect(passes.published(prompt('new', { publish: false }))).toEqual({ live: 3, latest: 4 });
    expect(passes.texts()[2]).toBe('good');
  });

  it('is a choice by hand until a later edit publishes', () => {
    const passes = new Passes();
    passes.settle(prompt('one'));
    passes.settle(prompt('two'));
    expect(passes.published(prompt('two', {}, pinned('1@2')))).toEqual({ live: 1, latest: 2 });
    expect(passes.published(prompt('three', { publish: false }, pinned('1@2')))).toEqual({ live: 1, latest: 3 });
    expect(passes.published(prompt('three', {}, pinned('1@2')))).toEqual({ live: 3, latest: 3 });
    expect(passes.published(prompt('three', {}, pinned('1')))).toEqual({ live: 1, latest: 3 });
  });

  it.each([
    ['9', 'RefNotFound', 'there is no version 9'],
    ['one', 'InvalidAnnotation', 'must be the number of a version'],
  ])('is as before where the choice is %s', (choice, reason, message) => {
    const passes = new Passes();
    const { snapshot, statuses } = passes.settle(prompt('one', {}, pinned(choice)));
    expect(snapshot.prompts).toMatchObject([{ live: 1 }]);
    const resolved = statuses[0] && conditionOf(statuses[0], 'ResolvedRefs');
    expect(resolved).toMatchObject({ status: 'False', reason, message: expect.stringContaining(message) });
  });
});

describe('a label', () => {
  it('is on the last version that an edit gave it to', () => {
    const passes = new Passes();
    expect(passes.published(prompt('one', { labels: ['production', 'both'] }))).toMatchObject({
      production: 1,
      both: 1,
    });
    expect(passes.published(prompt('two', { labels: ['both'] }))).toEqual({
      live: 2,
      latest: 2,
      production: 1,
      both: 2,
    });
    expect(passes.published(prompt('two', { labels: [] }))).toEqual({ live: 2, latest: 2, production: 1, both: 1 });
    expect(passes.published(prompt('two', { labels: ['production'] }))).toEqual({
      live: 2,
      latest: 2,
      production: 2,
      both: 1,
    });
    expect(passes.versions).toHaveLength(2);
  });

  it('goes by hand where it is wanted, until a later edit has it', () => {
    const passes = new Passes();
    for (const text of ['one', 'two', 'three']) passes.settle(prompt(text, { labels: ['production'] }));
    const more = { labels: ['production'] };
    expect(passes.published(prompt('three', more, labelled('production=1@3,beta=2@3')))).toMatchObject({
      production: 1,
      beta: 2,
    });
    expect(passes.published(prompt('three', more, labelled('production=0@3')))).toEqual({ live: 3, latest: 3 });
    expect(passes.published(prompt('three', more, labelled('production=9@3, junk, x=y,latest=1')))).toEqual({
      live: 3,
      latest: 3,
      production: 3,
    });
    expect(passes.published(prompt('four', more, labelled('production=1@3')))).toMatchObject({ production: 4 });
  });

  it('and a choice are written as they are read', () => {
    for (const text of ['3', '3@5', '0@1'])
      expect(writeChoice(readChoice(text) ?? { version: -1, over: undefined })).toBe(text);
    expect(writeLabelChoices(readLabelChoices('b=2, a=1@4'))).toBe('a=1@4,b=2');
    expect([readChoice(''), readChoice('x'), readChoice('3@'), readChoice('-1')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('a version by the control plane', () => {
  const draft = (version: number, string: string): Manifest => {
    const content = JSON.stringify({ string });
    const spec = { kind: 'Prompt', prompt: 'p', version, content, created_by: 'api' };
    const { manifests } = worldOf({ 'a.yaml': object('PromptVersion', `prompt.p.v${version}`, spec) });
    return annotated(manifests[0] as Manifest, {});
  };

  it('is a draft, which no edit that was there before publishes', () => {
    const passes = new Passes();
    passes.settle(prompt('one'));
    passes.versions = [...passes.versions, draft(2, 'two')];
    expect(passes.published(prompt('one'))).toEqual({ live: 1, latest: 2 });
    expect(passes.published(prompt('one', {}, pinned('2@1')))).toEqual({ live: 2, latest: 2 });
    expect(passes.published(prompt('two', {}, pinned('2@1')))).toEqual({ live: 3, latest: 3 });
  });
});
