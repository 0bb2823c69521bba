import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import type { Occurrence } from '#crds/api/event-object.ts';
import { EventRecorder } from '#crds/api/event-recorder.ts';
import type { ApiRequest, ApiResponse } from '#crds/api/transport.ts';
import { configMap, failure, json, ScriptedTransport, silence } from './scripted-transport.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

const open: EventRecorder[] = [];
afterEach(() => {
  for (const recorder of open.splice(0)) recorder.close();
});

function recorderOf(answer: (request: ApiRequest) => ApiResponse | Promise<ApiResponse> = () => json({})) {
  const transport = new ScriptedTransport(answer);
  const faults: Error[] = [];
  const recorder = new EventRecorder({
    client: new ApiClient(transport),
    reportingController: 'modelgateway.dev/operator',
    reportingInstance: 'operator-0',
    fieldManager: 'm',
    onFault: (error) => faults.push(error),
  });
  open.push(recorder);
  const { requests } = transport;
  return { transport, recorder, faults, requests, bodies: () => requests.map(({ body }) => JSON.parse(body ?? '')) };
}

function occurrence(given: Partial<Occurrence> = {}): Occurrence {
  const regarding = configMap(3);
  return { regarding, type: 'Warning', reason: 'Refused', action: 'Compile', note: 'It is wrong.', ...given };
}

describe('an Event', () => {
  it('says what happened to what, by whom and when', async () => {
    const { recorder, requests, bodies } = recorderOf();
    recorder.record(occurrence());
    await pass();
    expect(requests[0]).toMatchObject({
      method: 'POST',
      path: '/apis/events.k8s.io/v1/namespaces/n/events?fieldManager=m',
    });
    expect(bodies()).toEqual([
      {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^a\.[0-9a-f]{16}$/), namespace: 'n' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'modelgateway.dev/operator',
        reportingInstance: 'operator-0',
        type: 'Warning',
        reason: 'Refused',
        action: 'Compile',
        note: 'It is wrong.',
        regarding: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          namespace: 'n',
          name: 'a',
          uid: 'uid-of-a',
          resourceVersion: '3',
        },
      },
    ]);
  });

  it.each([
    ['short', 'ä'.repeat(512), 'ä'.repeat(512)],
    ['long', 'x'.repeat(5_000), `${'x'.repeat(1_021)}...`],
    ['long, of wide characters', `x${'😀'.repeat(2_000)}`, `x${'😀'.repeat(255)}...`],
  ])('has at most 1 kB of a note that is %s', async (_what, note, expected) => {
    const { recorder, bodies } = recorderOf();
    recorder.record(occurrence({ note }));
    await pass();
    expect(bodies()[0].note).toBe(expected);
    expect(Buffer.byteLength(bodies()[0].note)).toBeLessThanOrEqual(1_024);
  });

  it('has a name that the server takes, whatever the object is called', async () => {
    const { recorder, bodies } = recorderOf();
    const name = `${'a'.repeat(235)}-.${'b'.repeat(16)}`;
    recorder.record(occurrence({ regarding: configMap(3, { name }) }));
    await pass();
    expect(bodies()[0].metadata.name.length).toBeLessThanOrEqual(253);
    expect(bodies()[0].metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  });

  it('that happens once in all has the name of its id, and is no fault where it was told before', async () => {
    const { recorder, bodies, faults, transport } = recorderOf();
    recorder.record(occurrence({ id: '0123456789abcdef0123' }));
    await pass();
    expect(bodies()[0].metadata.name).toBe('a.0123456789abcdef');
    recorder.close();
    const again = recorderOf(() => failure(409, 'AlreadyExists'));
    again.recorder.record(occurrence({ id: '0123456789abcdef0123' }));
    await pass();
    expect(again.bodies()[0].metadata.name).toBe('a.0123456789abcdef');
    expect([faults, again.faults, transport.requests.length]).toEqual([[], [], 1]);
    const other = recorderOf(() => failure(409, 'AlreadyExists'));
    other.recorder.record(occurrence());
    await pass();
    expect(other.faults).toHaveLength(1);
  });

  it('about what has no namespace is in the default one', async () => {
    const { recorder, requests } = recorderOf();
    const { namespace: _, ...metadata } = configMap(3).metadata;
    recorder.record(occurrence({ regarding: { ...configMap(3), metadata } }));
    await pass();
    expect(requests[0]?.path).toContain('/namespaces/default/events');
  });
});

describe('what repeats', () => {
  it('counts up the same Event, at most every ten seconds', async () => {
    const { recorder, requests, bodies } = recorderOf();
    for (let second = 0; second < 60; second++) {
      recorder.record(occurrence());
      await pass(1_000);
    }
    await pass(20_000);
    const [first, ...patches] = bodies();
    const patched = requests.slice(1);
    expect(patched.length).toBeGreaterThan(3);
    expect(patched.length).toBeLessThanOrEqual(7);
    for (const { method, path, contentType } of patched) {
      expect([method, contentType]).toEqual(['PATCH', 'application/merge-patch+json']);
      expect(path).toBe(`/apis/events.k8s.io/v1/namespaces/n/events/${first.metadata.name}?fieldManager=m`);
    }
    expect(patches.at(-1)).toEqual({ series: { count: 60, lastObservedTime: '2026-01-01T00:00:59.000000Z' } });
  });

  it('counts in the first one what happened before it was written', async () => {
    const { recorder, bodies } = recorderOf();
    for (let n = 0; n < 30; n++) recorder.record(occurrence({ note: `note ${n}` }));
    for (let n = 0; n < 4; n++) recorder.record(occurrence({ note: 'note 29' }));
    await pass(10_000);
    expect(bodies().find(({ note }) => note === 'note 29')).toMatchObject({ series: { count: 5 } });
    expect(bodies().find(({ note }) => note === 'note 28')).not.toHaveProperty('series');
    expect(bodies()).toHaveLength(30);
  });

  it('after six silent minutes is another Event', async () => {
    const { recorder, requests } = recorderOf();
    recorder.record(occurrence());
    await pass(359_000);
    recorder.record(occurrence());
    await pass(360_000);
    recorder.record(occurrence());
    await pass(20_000);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
  });

  it('is another Event where the object, its uid, the reason, the type or the note differ', async () => {
    const { recorder, requests } = recorderOf();
    const all: Partial<Occurrence>[] = [
      {},
      { regarding: configMap(3, { name: 'b' }) },
      { regarding: configMap(3, { uid: 'another' }) },
      { reason: 'Accepted' },
      { type: 'Normal' },
      { action: 'Publish' },
      { note: 'It is wrong too.' },
    ];
    for (const one of all) recorder.record(occurrence(one));
    recorder.record(occurrence({ regarding: configMap(4) }));
    await pass(5_000);
    expect(requests.map(({ method }) => method)).toEqual(all.map(() => 'POST'));
  });

  it('begins anew where the Event has outlived its time', async () => {
    const { recorder, transport, requests, bodies } = recorderOf();
    recorder.record(occurrence());
    await pass();
    transport.answerWith(({ method }) => (method === 'PATCH' ? failure(404, 'NotFound') : json({})));
    recorder.record(occurrence());
    await pass(10_000);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(bodies()[2]).not.toHaveProperty('series');
    expect(bodies()[2].metadata.name).not.toBe(bodies()[0].metadata.name);
    transport.answerWith(() => json({}));
    recorder.record(occurrence());
    await pass(10_000);
    expect(requests.at(-1)?.path).toContain(bodies()[2].metadata.name);
    expect(bodies().at(-1)).toMatchObject({ series: { count: 2 } });
    expect(recorder.dropped).toBe(0);
  });
});

describe('a storm', () => {
  it('goes out at a bounded rate, and what is too much is dropped and counted', async () => {
    const { recorder, requests } = recorderOf();
    for (let n = 0; n < 10_000; n++) recorder.record(occurrence({ note: `note ${n}` }));
    await pass();
    expect(requests.length).toBeLessThanOrEqual(26);
    await pass(60_000);
    expect(requests.length).toBeLessThanOrEqual(26 + 121);
    await pass(600_000);
    expect(requests.length + recorder.dropped).toBe(10_000);
    expect(requests.length).toBeGreaterThan(250);
    expect(requests.length).toBeLessThan(300);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of failures is never tried again', async () => {
    const { recorder, requests, faults } = recorderOf(() => failure(403, 'Forbidden'));
    for (let n = 0; n < 10; n++) recorder.record(occurrence({ note: `note ${n}` }));
    await pass(600_000);
    expect(requests).toHaveLength(10);
    expect(recorder.dropped).toBe(10);
    expect(faults).toHaveLength(10);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is over with the failure: what happens again is told', async () => {
    const { recorder, requests, transport } = recorderOf(() => failure(500, 'InternalError'));
    recorder.record(occurrence());
    await pass();
    transport.answerWith(() => json({}));
    recorder.record(occurrence());
    await pass();
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
    recorder.record(occurrence());
    transport.answerWith(() => failure(500, 'InternalError'));
    await pass(10_000);
    expect(requests.at(-1)?.method).toBe('PATCH');
    expect(recorder.dropped).toBe(2);
  });
});

describe('close', () => {
  it('drops what waits, leaves no timer and takes no more', async () => {
    const { recorder, requests } = recorderOf();
    for (let n = 0; n < 100; n++) recorder.record(occurrence({ note: `note ${n}` }));
    recorder.record(occurrence({ note: 'note 0' }));
    await pass();
    recorder.close();
    recorder.record(occurrence());
    const sent = requests.length;
    expect(vi.getTimerCount()).toBe(0);
    await pass(600_000);
    expect(requests).toHaveLength(sent);
    expect(recorder.dropped).toBeGreaterThanOrEqual(100 - sent);
  });

  it('does not wait for a server that does not answer', async () => {
    const { recorder, requests } = recorderOf(silence);
    recorder.record(occurrence());
    recorder.record(occurrence({ note: 'another' }));
    await pass();
    recorder.close();
    await pass(20_000);
    expect(requests).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
