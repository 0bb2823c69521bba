/** The loop with a sink of the test's own: what is loaded, when, and what is said of it. */
import { rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { decodeSnapshot } from '#crds/snapshot/decode.ts';
import { InProcessSink, type SnapshotTaker } from '#operator/in-process-sink.ts';
import { type Pass, startLoop } from '#operator/loop.ts';
import { changesBetween, tableOf } from '#operator/report.ts';
import { openDirectory } from '#operator/source/directory/directory.ts';
import { type Folder, makeFolder, sleep, until } from './folder.ts';
import { documents, manifest, say, TOOLS } from './worlds.ts';

const config = (name: string, model: string) =>
  manifest('GatewayConfig', 'default', name, { provider: 'simulator', override_params: { model } });
const key = (name: string) => manifest('ApiKey', 'default', name, { type: 'workspace-service' });

/** Over all loops of this file: a restarted operator never makes the same key again. */
let serial = 0;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Running {
  readonly folder: Folder;
  readonly loaded: Snapshot[];
  readonly generations: number[];
  readonly passes: Pass[];
  readonly faults: Error[];
  readonly defects: unknown[];
  readonly last: () => Pass;
  readonly stop: () => void;
  refuse: string | undefined;
}

async function run(files: Record<string, string>, data?: Folder): Promise<Running> {
  const folder = makeFolder(files);
  ends.push(() => folder.remove());
  const source = await openDirectory({
    manifests: [folder.path],
    secretsDirectory: data?.at('secrets') ?? folder.at('.data/secrets'),
    environment: () => undefined,
    shownFrom: folder.path,
    live: true,
  });
  const passes: Pass[] = [];
  const faults: Error[] = [];
  const defects: unknown[] = [];
  const last = (): Pass => {
    const pass = passes.at(-1);
    if (pass === undefined) throw new Error('no pass yet');
    return pass;
  };
  const running: Running = {
    folder,
    loaded: [],
    generations: [],
    passes,
    faults,
    defects,
    last,
    stop: () => loop.close(),
    refuse: undefined,
  };
  const taker: SnapshotTaker = {
    load: (encoded) => {
      const { snapshot, generation, hash } = decodeSnapshot(encoded);
      if (running.refuse !== undefined)
        return { generation: running.generations.at(-1) ?? 0, hash: '', refused: running.refuse };
      running.loaded.push(snapshot);
      running.generations.push(generation);
      return { generation, hash };
    },
  };
  const tools = {
    ...TOOLS,
    newKey: () => {
      if (running.refuse === 'keys') throw new Error('no randomness to be had');
      return `mgw_generated-number-${serial++}`;
    },
  };
  const settings = { organisationNamespace: 'model-gateway', requestHosts: ['https://llm.example'] };
  const loop = await startLoop({
    source,
    sink: new InProcessSink(taker),
    settings,
    tools,
    onPass: (pass) => passes.push(pass),
    mayWrite: () => true,
    kept: [],
    onFault: (error) => faults.push(error),
    onDefect: (error) => defects.push(error),
  });
  ends.push(() => source.close());
  ends.push(() => loop.close());
  return running;
}

function modelsOf(snapshot: Snapshot | undefined): unknown[] {
  return (snapshot?.configs ?? []).map(({ config: { override_params: params } }) => params?.model);
}

describe('the loop', () => {
  it('has served everything when it has started', async () => {
    const { loaded, last } = await run({ 'a.yaml': documents(config('a', 'one'), key('k')) });
    expect(modelsOf(loaded[0])).toEqual(['one']);
    expect(loaded).toHaveLength(1);
    expect(loaded[0]?.keys).toHaveLength(1);
    expect(loaded[0]?.settings.request_hosts).toEqual(['https://llm.example']);
    expect(say(last().statuses, 'ApiKey default/k', 'Ready')).toBe('True Ready');
  });

  it('serves an edit within a second, and loads nothing that is served already', async () => {
    const { folder, loaded, generations } = await run({ 'a.yaml': config('a', 'one') });
    const tookMs = await (async () => {
      folder.write('a.yaml', config('a', 'two'));
      return until(() => modelsOf(loaded.at(-1))[0] === 'two');
    })();
    expect(tookMs).toBeLessThan(1000);
    folder.write('a.yaml', `# a comment\n${config('a', 'two')}`);
    await sleep(700);
    expect(generations).toEqual([1, 2]);
  });

  it('takes many edits together', async () => {
    const { folder, loaded } = await run({ 'a.yaml': config('a', 'one') });
    for (let index = 0; index < 40; index += 1) folder.write(`f${index}.yaml`, config(`f${index}`, 'new'));
    await until(() => loaded.at(-1)?.configs.length === 41, 2000);
    expect(loaded.length).toBeLessThan(8);
  });

  it('keeps a generated key over restarts, and makes a new one when its file is deleted', async () => {
    const data = makeFolder();
    ends.push(() => data.remove());
    const first = await run({ 'a.yaml': key('k') }, data);
    first.stop();
    const second = await run({ 'a.yaml': key('k') }, data);
    expect(second.loaded[0]?.keys[0]?.digest).toBe(first.loaded[0]?.keys[0]?.digest);
    rmSync(data.at('secrets/default/k-api-key.yaml'));
    await until(() => second.loaded.at(-1)?.keys[0]?.digest !== first.loaded[0]?.keys[0]?.digest);
    await until(() => second.loaded.at(-1)?.keys.length === 1);
  });

  it('says so when a Secret cannot be written, and serves the rest', async () => {
    const data = makeFolder({ 'secrets/default/k-api-key.yaml': 'broken: [' });
    ends.push(() => data.remove());
    const { loaded, last } = await run({ 'a.yaml': documents(config('a', 'one'), key('k')) }, data);
    expect(last().writeFailures).toHaveLength(1);
    expect(last().writeFailures[0]).toMatch(/^Secret default\/k-api-key: /);
    expect(modelsOf(loaded[0])).toEqual(['one']);
    expect(tableOf(last())).toContain('could not be written: Secret default/k-api-key');
  });

  it('shows a refusal of the gateway in every object, and tries again with the next change', async () => {
    const running = await run({ 'a.yaml': config('a', 'one') });
    running.refuse = 'not this one';
    running.folder.write('a.yaml', config('a', 'two'));
    await until(
      () => say(running.last().statuses, 'GatewayConfig default/a', 'Programmed') === 'False RefusedByGateway',
    );
    expect(tableOf(running.last())).toContain('not this one');
    running.refuse = undefined;
    running.folder.write('a.yaml', config('a', 'three'));
    await until(() => say(running.last().statuses, 'GatewayConfig default/a', 'Programmed') === 'True Programmed');
    expect(modelsOf(running.loaded.at(-1))).toEqual(['three']);
  });
});

describe('a defect', () => {
  it('ends nothing: what was served is served, and the next change is tried', async () => {
    const running = await run({ 'a.yaml': config('a', 'one') });
    running.refuse = 'keys';
    running.folder.write('k.yaml', key('k'));
    await until(() => running.defects.length === 1);
    expect(modelsOf(running.loaded.at(-1))).toEqual(['one']);
    running.refuse = undefined;
    running.folder.write('a.yaml', config('a', 'two'));
    await until(() => modelsOf(running.loaded.at(-1))[0] === 'two' && running.loaded.at(-1)?.keys.length === 1);
  });
});

describe('the report', () => {
  it('has a row per object, with reason, file and line', async () => {
    const { last } = await run({
      'a.yaml': config('good', 'one'),
      'b.yaml': manifest('GatewayConfig', 'default', 'bad', { provider: 'nobody' }),
      'c.yaml': 'x: [',
    });
    const lines = tableOf(last()).split('\n');
    expect(lines[0]).toMatch(/^KIND +OBJECT +ACCEPTED +RESOLVED +PROGRAMMED +READY +FROM$/);
    expect(lines[1]).toMatch(/^GatewayConfig +default\/good +True +True +True +True +a\.yaml:1$/);
    expect(lines[2]).toMatch(/^GatewayConfig +default\/bad +False +Unknown +False +False +b\.yaml:1$/);
    expect(lines[3]).toMatch(/^ {4}InvalidSpec: spec\.provider: /);
    expect(lines[4]).toMatch(/^c\.yaml:1: Unparsable: /);
  });

  it('has a line for each change, and none for what stayed', async () => {
    const running = await run({ 'a.yaml': config('a', 'one'), 'b.yaml': config('b', 'one') });
    const { folder, passes, last } = running;
    const first = last();
    const step = async (file: string, text: string | undefined): Promise<string[]> => {
      const before = last();
      const count = passes.length;
      if (text === undefined) rmSync(folder.at(file));
      else folder.write(file, text);
      await until(() => passes.length > count);
      return changesBetween(before, last());
    };
    expect(await step('b.yaml', config('b', 'two'))).toEqual([]);
    expect(
      await step('a.yaml', manifest('GatewayConfig', 'default', 'a', { provider: 'nobody', api_key: 'x' })),
    ).toEqual([
      expect.stringMatching(
        /^GatewayConfig default\/a: Accepted=False ResolvedRefs=Unknown Programmed=False Ready=False; UnknownProvider: .* \(a\.yaml:1\)$/,
      ),
    ]);
    expect(await step('a.yaml', 'x: [')).toEqual([expect.stringMatching(/^a\.yaml:1: Unparsable: .* kept$/)]);
    expect(await step('a.yaml', config('a', 'three'))).toEqual([
      'GatewayConfig default/a: Accepted=True ResolvedRefs=True Programmed=True Ready=True (a.yaml:1)',
      'a.yaml: its problem is solved',
    ]);
    expect(await step('c.yaml', config('c', 'one'))).toEqual(['GatewayConfig default/c: new, Ready=True (c.yaml:1)']);
    expect(await step('c.yaml', undefined)).toEqual(['GatewayConfig default/c: removed']);
    expect(changesBetween(first, first)).toEqual([]);
  });

  it('says that there is nothing', () => {
    expect(tableOf({ statuses: [], problems: [], writeFailures: [] })).toBe('no objects');
  });
});
