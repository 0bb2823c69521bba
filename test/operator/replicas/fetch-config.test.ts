/** Real gateways' answers, over loopback. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { type Replicas, startReplicas } from '#operator/replicas/replicas.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { SliceServer, slice } from './slice-server.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const json =
  (body: unknown, status = 200): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
const OK = { generation: 7, hash: 'abc', loaded_at: '2026-01-31T12:00:00.000Z', format: 1 };

async function gateway(answer: Answer, port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    request.resume();
    answer(response, request);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

async function follow(adminPort: number): Promise<Replicas> {
  const api = new SliceServer();
  api.put(slice('s', [{ address: '127.0.0.1', pod: 'gw-0' }]));
  const client = new ApiClient(api);
  const started = startReplicas({ client, namespace: 'gateways', service: 'gateway', adminPort, onChange: () => {} });
  ends.push(() => started.close());
  await started.whenSynced;
  return started;
}

describe('a gateway', () => {
  it('is asked for /config on its admin port, over one connection that is kept', async () => {
    const paths: string[] = [];
    const { server, port } = await gateway((response, request) => {
      paths.push(`${request.method} ${request.url}`);
      json({ ...OK, generation: 6 })(response, request);
    });
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    const replicas = await follow(port);
    replicas.ask(7);
    await waitFor(() => paths.length >= 5, 'five questions');
    expect(new Set(paths)).toEqual(new Set(['GET /config']));
    expect(connections).toBe(1);
    expect(replicas.replicas()).toEqual([
      { name: 'gw-0', address: '127.0.0.1', generation: 6, hash: 'abc', reachable: true },
    ]);
  });

  it.each<[string, object, object]>([
    ['nothing yet', { generation: 0, hash: '', loaded_at: null, format: 1 }, { generation: 0, hash: '' }],
    [
      'what it serves and what it refused',
      { ...OK, refused: { generation: 8, hash: 'def', reason: 'x'.repeat(5_000), more: 1 } },
      { generation: 7, hash: 'abc', refused: { generation: 8, hash: 'def', reason: 'x'.repeat(1_024) } },
    ],
    ['more than we know of', { ...OK, format: 2, uptime: 3 }, { generation: 7, hash: 'abc' }],
  ])('may say %s', async (_, body, expected) => {
    const { port } = await gateway(json(body));
    const replicas = await follow(port);
    await waitFor(() => replicas.replicas()[0]?.reachable === true, 'an answer');
    expect(replicas.replicas()).toEqual([{ name: 'gw-0', address: '127.0.0.1', reachable: true, ...expected }]);
  });

  it.each<[string, Answer]>([
    ['another status', json(OK, 503)],
    ['no JSON', (response) => response.end('generation 7')],
    ['a generation that is none', json({ ...OK, generation: -1 })],
    ['a generation as text', json({ ...OK, generation: '7' })],
    ['a refusal without reason', json({ ...OK, refused: { generation: 8, hash: 'd' } })],
    ['far too much', json({ ...OK, more: 'x'.repeat(200_000) })],
    [
      'half an answer',
      (response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
    ],
    ['a redirect', (response) => response.writeHead(302, { location: '/other' }).end()],
  ])('that says %s counts as silent, and says it the next time', async (_, answer) => {
    let isBad = true;
    let asked = 0;
    const { port } = await gateway((response, request) => {
      asked += 1;
      (isBad ? answer : json(OK))(response, request);
    });
    const replicas = await follow(port);
    replicas.ask(7);
    await waitFor(() => asked >= 3, 'three questions');
    expect(replicas.replicas()).toMatchObject([{ generation: 0, hash: '', reachable: false }]);
    isBad = false;
    await waitFor(() => replicas.replicas()[0]?.generation === 7, 'a good answer');
  });

  it('that takes the question and is silent is given up after a second, and asked again', async () => {
    let isSilent = true;
    let asked = 0;
    const { port } = await gateway((response, request) => {
      asked += 1;
      if (!isSilent) json(OK)(response, request);
    });
    const replicas = await follow(port);
    replicas.ask(7);
    await waitFor(() => asked === 1, 'a question');
    expect(replicas.replicas()[0]).toMatchObject({ generation: 0, reachable: false });
    isSilent = false;
    await waitFor(() => replicas.replicas()[0]?.generation === 7, 'the silent one');
  });

  it('that is not there is silent, and found when it is', async () => {
    const { port, server } = await gateway(json(OK));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const replicas = await follow(port);
    replicas.ask(7);
    await waitFor(() => replicas.replicas().length === 1, 'the endpoint');
    expect(replicas.replicas()[0]?.reachable).toBe(false);
    await gateway(json(OK), port);
    await waitFor(() => replicas.replicas()[0]?.generation === 7, 'its start');
  });
});
