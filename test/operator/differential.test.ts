/** Whatever the way, the end counts: random edits give the snapshot of the final state alone. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { canonicalJson } from '#crds/snapshot/records.ts';
import { compile } from '#operator/compile/compile.ts';
import type { LastGood } from '#operator/compile/elect.ts';
import { manifest, TOOLS, worldOf } from './worlds.ts';

const NAMES = ['a', 'b', 'c'] as const;
const NAMESPACES = ['default', 'model-gateway', 'team-a'] as const;
const name = fc.constantFrom(...NAMES);
const namespace = fc.constantFrom(...NAMESPACES);

const config = fc
  .record({ model: fc.constantFrom('one', 'two'), slug: fc.option(name, { nil: undefined }), key: fc.boolean() })
  .map(({ model, slug, key }) =>
    slug === undefined
      ? {
          provider: 'openai',
          ...(key ? { api_key: 'sk-plain' } : { custom_host: 'http://localhost:1/v1' }),
          override_params: { model },
        }
      : { strategy: { mode: 'fallback' }, targets: [{ provider: `@${slug}` }, { provider: 'simulator' }] },
  );
const integration = fc
  .record({ secret: name, provider: fc.constantFrom('openai', 'simulator'), custom: fc.boolean() })
  .map(({ secret, provider, custom }) => ({
    provider,
    secret_mappings: [{ target_field: 'api_key', secret_name: secret, secret_key: 'api_key' }],
    configurations: custom ? { custom_host: 'http://localhost:2/v1' } : {},
  }));
const apiKey = fc
  .record({ config: fc.option(name, { nil: undefined }), secret: name, disabled: fc.boolean() })
  .map(({ config: configId, secret, disabled }) => ({
    type: 'workspace-service',
    secret_name: secret,
    disabled,
    defaults: configId === undefined ? {} : { config_id: configId },
  }));
const secret = fc
  .constantFrom('key-number-one-of-three', 'key-number-two-of-three', 'key-number-three')
  .map((key) => ({ api_key: key }));
const bad = fc.constantFrom({ provider: 'nobody' }, { nothing: true }, null, [], 'text', { type: 'root' });

const KINDS = { GatewayConfig: config, Integration: integration, ApiKey: apiKey, Secret: secret } as const;
const anyKind = fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[]));

interface Edit {
  readonly file: string;
  /** undefined: the file is deleted. */
  readonly text: string | undefined;
}

/** One object per file, named by what it is: a valid state has no two objects of one name. */
const validEdit: fc.Arbitrary<Edit> = fc
  .tuple(anyKind, namespace, name, fc.boolean())
  .chain(([kind, ns, n, isThere]): fc.Arbitrary<Edit> => {
    const file = `${kind}-${ns}-${n}.yaml`;
    return isThere
      ? KINDS[kind].map((spec) => ({ file, text: manifest(kind, ns, n, spec) }))
      : fc.constant({ file, text: undefined });
  });
const badEdit: fc.Arbitrary<Edit> = fc
  .tuple(fc.constantFrom('GatewayConfig', 'Integration', 'ApiKey'), namespace, name, bad)
  .map(([kind, ns, n, spec]) => ({ file: `${kind}-${ns}-${n}.yaml`, text: manifest(kind, ns, n, spec) }));

type Files = Readonly<Record<string, string>>;

function edited(files: Files, { file, text }: Edit): Files {
  const { [file]: _former, ...others } = files;
  return text === undefined ? others : { ...others, [file]: text };
}

function run(edits: readonly Edit[]): { files: Files; snapshot: Snapshot; lastGood: LastGood } {
  let files: Files = {};
  let compiled = compile(worldOf(files), new Map(), TOOLS);
  for (const edit of edits) {
    files = edited(files, edit);
    compiled = compile(worldOf(files), compiled.lastGood, TOOLS);
  }
  return { files, snapshot: compiled.snapshot, lastGood: compiled.lastGood };
}

/** Records of a snapshot but for those of one object, as bytes. */
function recordsBut(snapshot: Snapshot, kind: string, ns: string, n: string): string {
  const others = <T extends { namespace: string; name: string }>(records: readonly T[], own: boolean): T[] =>
    records.filter((record) => !(own && record.namespace === ns && record.name === n));
  return canonicalJson({
    configs: others(snapshot.configs, kind === 'GatewayConfig'),
    integrations: others(snapshot.integrations, kind === 'Integration'),
    credentials: snapshot.credentials.filter(
      (record) => !(record.kind === kind && record.namespace === ns && record.name === n),
    ),
    keys: others(snapshot.keys, kind === 'ApiKey'),
  });
}

describe('compile, by random edits', () => {
  it('valid edits: the snapshot is that of the final state alone', () => {
    fc.assert(
      fc.property(fc.array(validEdit, { maxLength: 25 }), (edits) => {
        const { files, snapshot } = run(edits);
        const alone = compile(worldOf(files), new Map(), TOOLS).snapshot;
        expect(canonicalJson(snapshot)).toBe(canonicalJson(alone));
      }),
      { numRuns: 150 },
    );
  });

  it('bad edits in between leave no trace once they are corrected', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(validEdit, badEdit), { maxLength: 25 }),
        fc.array(validEdit, { maxLength: 5 }),
        (mixed, last) => {
          const before = run(mixed);
          const corrections = Object.entries(before.files).flatMap(([file, text]): Edit[] =>
            compile(worldOf({ [file]: text }), new Map(), TOOLS).snapshot.refused.length > 0
              ? [{ file, text: undefined }]
              : [],
          );
          const { files, snapshot } = run([...mixed, ...corrections, ...last]);
          const alone = compile(worldOf(files), new Map(), TOOLS).snapshot;
          expect(canonicalJson(snapshot)).toBe(canonicalJson(alone));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('a bad edit of one object changes no byte of another', () => {
    fc.assert(
      fc.property(fc.array(validEdit, { minLength: 3, maxLength: 25 }), badEdit, (edits, spoiled) => {
        const before = run(edits);
        const { snapshot } = compile(worldOf(edited(before.files, spoiled)), before.lastGood, TOOLS);
        const [kind = '', ns = '', n = ''] =
          /^(\w+?)-(default|model-gateway|team-a)-(\w)\.yaml$/.exec(spoiled.file)?.slice(1) ?? [];
        // A key that was held by the spoiled ApiKey's namesake stays where it was, too: nothing is excluded but the object itself.
        expect(recordsBut(snapshot, kind, ns, n)).toBe(recordsBut(before.snapshot, kind, ns, n));
      }),
      { numRuns: 150 },
    );
  });

  it('a bad edit of an object that was good changes nothing at all', () => {
    fc.assert(
      fc.property(fc.array(validEdit, { minLength: 3, maxLength: 25 }), fc.nat(), (edits, pick) => {
        const before = run(edits);
        const own = Object.keys(before.files).filter((file) => !file.startsWith('Secret'));
        const file = own[pick % Math.max(1, own.length)];
        fc.pre(file !== undefined);
        if (file === undefined) return;
        const text = JSON.stringify({ ...JSON.parse(before.files[file] ?? '{}'), spec: { nothing: true } });
        const wasGood = compile(worldOf(before.files), new Map(), TOOLS).snapshot.refused.every(
          ({ kind, namespace: ns, name: n }) => file !== `${kind}-${ns}-${n}.yaml`,
        );
        fc.pre(wasGood);
        const { snapshot } = compile(worldOf(edited(before.files, { file, text })), before.lastGood, TOOLS);
        expect(canonicalJson(snapshot)).toBe(canonicalJson(before.snapshot));
      }),
      { numRuns: 150 },
    );
  });
});
