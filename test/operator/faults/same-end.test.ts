/** O12: whatever the way, the end counts: the whole operator through random edits, and one that sees the end alone. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ApiObject, SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { NAMESPACE, published, RESOURCES, resourceOf, statusesIn } from './outcome.ts';
import { ORGANISATION, openStage, type Stage, useStages } from './stage.ts';
import { apiKey, config, fallback, integration, secret } from './workload.ts';

useStages();

const name = fc.constantFrom('a', 'b', 'c');
const namespace = fc.constantFrom('team-a', 'team-b', ORGANISATION);
const path = fc.tuple(namespace, name).map((parts) => parts.join('/'));

const MAKE: Readonly<Record<string, (at: string) => fc.Arbitrary<ApiObject>>> = {
  GatewayConfig: (at) =>
    fc.tuple(fc.option(name, { nil: undefined }), fc.constantFrom('one', 'two')).map(([slug, model]) =>
      config(at, {
        ...(slug === undefined ? { provider: 'simulator' } : fallback(`@${slug}`, 'simulator')),
        override_params: { model },
      }),
    ),
  Integration: (at) =>
    fc
      .tuple(name, fc.boolean())
      .map(([vendor, isShared]) =>
        integration(at, vendor, isShared && at.startsWith(ORGANISATION) ? { allow_all_workspaces: true } : {}),
      ),
  ApiKey: (at) =>
    fc
      .tuple(name, name, fc.boolean())
      .map(([own, configId, disabled]) =>
        apiKey(at, { secret_name: `key-${own}`, disabled, defaults: { config_id: configId } }),
      ),
  Secret: (at) =>
    fc.constantFrom('one', 'two', 'three').map((value) => secret(at, { api_key: `a-key-that-is-${value}` })),
};

interface Edit {
  readonly kind: string;
  readonly at: string;
  /** undefined: it is deleted. */
  readonly object: ApiObject | undefined;
  readonly waitMs: number;
}

/** All ApiKeys have Secrets that somebody brought: those that an operator makes differ from one to the next. */
const KEYS: readonly ApiObject[] = ['team-a', 'team-b', ORGANISATION].flatMap((place) =>
  ['a', 'b', 'c'].map((own) => secret(`${place}/key-${own}`, { api_key: `the-key-${own}-of-${place}` })),
);

const edit: fc.Arbitrary<Edit> = fc
  .tuple(fc.constantFrom(...Object.keys(MAKE)), path, fc.constantFrom(0, 0, 30, 300, 3_000), fc.nat(3))
  .chain(([kind, at, waitMs, chance]) =>
    fc.record({
      kind: fc.constant(kind),
      at: fc.constant(at),
      object: chance === 0 ? fc.constant(undefined) : (MAKE[kind]?.(at) ?? fc.constant(undefined)),
      waitMs: fc.constant(waitMs),
    }),
  );

function take({ server }: Stage, { kind, at, object }: Edit): void {
  const [place, called = ''] = at.split('/');
  const resource = kind === 'Secret' ? SECRETS : resourceOf(kind);
  if (object !== undefined) server.apply(object);
  else if (server.get(resource, place, called) !== undefined) server.delete(resource, place, called);
}

/** As somebody would apply it: without what the server or the operator wrote. */
function endOf({ server }: Stage): ApiObject[] {
  const secrets = server.list(SECRETS).filter(({ metadata }) => metadata.namespace !== NAMESPACE);
  return [...secrets, ...RESOURCES.flatMap((resource) => server.list(resource))].map((object) => {
    const { status: _, metadata, ...rest } = object;
    return { ...rest, metadata: { namespace: metadata.namespace ?? '', name: metadata.name } } as ApiObject;
  });
}

/** Without generations, which count the edits. */
function said({ server }: Stage): unknown {
  return Object.entries(statusesIn(server)).map(([object, text]) => [
    object,
    text.replace(/^.*\n/, '').replace(/ of \d+: /g, ': '),
  ]);
}

it('O12: random edits end in the same snapshot and statuses as their end alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 5, maxLength: 40 }), fc.nat(), async (edits, cut) => {
      const stage = openStage();
      stage.server.apply(KEYS);
      let run = stage.start();
      await pass(3_000);
      for (const [index, one] of edits.entries()) {
        take(stage, one);
        await pass(one.waitMs);
        if (index !== cut % (2 * edits.length)) continue;
        run.crash();
        run = stage.start();
      }
      await pass(40_000);
      await stage.settle();
      const alone = openStage();
      alone.server.apply(endOf(stage));
      alone.start();
      await alone.settle();
      expect(published(stage.server)).toMatchObject({ hash: published(alone.server).hash });
      expect(said(stage)).toEqual(said(alone));
      await Promise.all([stage.close(), alone.close()]);
    }),
    { numRuns: 30 },
  );
});
