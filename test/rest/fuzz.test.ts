/** Whatever is sent to the control plane, it answers in the words of the table, and never with a defect. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SHARED_ERRORS } from '#crds/http/shared-errors.ts';
import { bodyOf, SAMPLES } from './samples.ts';
import { type ClusterStage, startCluster } from './stage.ts';
import type { Who } from './world.ts';

let stage: ClusterStage;
beforeAll(async () => {
  stage = await startCluster();
}, 60_000);
afterAll(() => stage?.close());

const word = fc.oneof(
  fc.constantFrom('type', 'unit', 'value', 'name', 'conditions', 'group_by', 'scopes', 'defaults', 'workspace_id'),
  fc.constantFrom('toString', '__proto__x', 'constructor', '', 'expires_at', 'usage_limits', 'rotation_policy'),
  fc.string({ maxLength: 12 }),
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom<unknown>(null, -1, 0, 1e308, '', '*', 'team-a', 'requests', [], {}, [null], [[]], { key: null }),
);
const change = fc.dictionary(word, value, { maxKeys: 4 });
const part = fc.oneof(
  fc.constantFrom(
    'by-hand',
    'reader',
    'entities',
    'rotate',
    'reset',
    'organisation',
    'service',
    '..',
    '.',
    '%2e%2e',
    '~',
  ),
  fc.webSegment({ size: 'small' }),
);
const query = fc.dictionary(
  fc.constantFrom('page_size', 'current_page', 'status', 'type', 'unit', 'workspace_id', 'include_usage', 'search'),
  fc.string({ maxLength: 10 }),
);
const who = fc.constantFrom<Who | ''>('team', 'organisation', 'reader', 'inference', 'user', 'other', 'expired', '');

const request = fc.record({
  sample: fc.constantFrom(...SAMPLES),
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
  isCreation: fc.boolean(),
  parts: fc.array(part, { maxLength: 3 }),
  query,
  change,
  who,
  text: fc.option(fc.string({ maxLength: 40 }), { freq: 8 }),
});

const CODES: readonly string[] = Object.keys(SHARED_ERRORS);

it('answers any request in the table’s words', async () => {
  await fc.assert(
    fc.asyncProperty(request, async ({ sample, method, isCreation, parts, query, change, who, text }) => {
      const below = parts.map((one) => `/${one}`).join('');
      const path = isCreation ? sample.createPath : `${sample.path}${below}`;
      const hasBody = method !== 'GET';
      const body = text ?? { ...(isCreation ? bodyOf(sample, 'Fuzz') : {}), ...change };
      const asked = { as: who, ...(hasBody ? { body } : {}) };
      const answer = await stage.ask(method, `${path}?${new URLSearchParams(query)}`, asked);
      if (answer.status === 200) return;
      expect(CODES).toContain(answer.error.code);
      expect(answer.error.code, answer.error.message).not.toBe('internal');
      expect(answer.status).toBe(SHARED_ERRORS[answer.error.code as keyof typeof SHARED_ERRORS][0]);
      expect(answer.error.message.length).toBeGreaterThan(10);
    }),
    { numRuns: 600, endOnFailure: true },
  );
}, 120_000);
