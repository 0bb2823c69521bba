import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import type { Cluster } from '#crds/api/kube-config.ts';
import { reflect } from '#crds/api/reflector.ts';
import type { ApiResponse, Transport } from '#crds/api/transport.ts';
import { type UndiciTransportOptions, undiciTransport } from '#crds/api/undici-transport.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { newAuthority } from './certificate.ts';
import { configMap, line, listOf } from './scripted-transport.ts';
import { type Seen, startTlsServer } from './tls-server.ts';

const authority = newAuthority('cluster CA');
const loopback = authority.issue('api server');

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function serve(
  handle: (seen: Seen, response: ServerResponse) => void = (_, response) => response.end('{}'),
  identity = loopback,
) {
  const server = await startTlsServer(identity, authority.cert, handle);
  cleanups.push(() => server.close());
  return server;
}

function connect(origin: string, given: Partial<Cluster> = {}, options: UndiciTransportOptions = {}): Transport {
  const cluster: Cluster = {
    origin,
    tls: { ca: authority.cert },
    namespace: 'n',
    authorization: async () => 'Bearer token',
    refused: () => {},
    ...given,
  };
  const transport = undiciTransport(cluster, options);
  cleanups.push(() => transport.close());
  return transport;
}

async function textOf({ body }: ApiResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a request', () => {
  it('arrives as it is, with the token, over HTTP/1.1', async () => {
    const server = await serve((_, response) => {
      response.writeHead(201, { 'Retry-After': '3', 'X-Two': ['a', 'b'] }).end('{"ok":true}');
    });
    const body = JSON.stringify({ text: 'ä€' });
    const answer = await connect(server.origin).send({
      method: 'PATCH',
      path: '/api/v1/x?y=1',
      contentType: 'application/merge-patch+json',
      accept: 'application/json;as=Table',
      body,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'retry-after': '3', 'x-two': 'a, b' });
    expect(await textOf(answer)).toBe('{"ok":true}');
    expect(server.seen[0]).toMatchObject({ method: 'PATCH', path: '/api/v1/x?y=1', httpVersion: '1.1', body });
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer token',
      'content-type': 'application/merge-patch+json',
      accept: 'application/json;as=Table',
      'user-agent': 'model-gateway',
    });
  });

  it('without a token has none, and asks for JSON', async () => {
    const server = await serve();
    await textOf(
      await connect(server.origin, { authorization: async () => undefined }).send({ method: 'GET', path: '/' }),
    );
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization');
    expect(server.seen[0]?.headers.accept).toBe('application/json');
  });

  it('is an answer whatever its status', async () => {
    const server = await serve((_, response) => response.writeHead(503).end('no'));
    expect((await connect(server.origin).send({ method: 'GET', path: '/' })).status).toBe(503);
  });
});

/** A connection is used again one turn of the event loop after its answer ended: who asks sooner may take a second one. */
const FOR_ONE_AT_A_TIME = 2;

describe('connections', () => {
  it('are used again', async () => {
    const server = await serve();
    const transport = connect(server.origin);
    for (let n = 0; n < 10; n++) await textOf(await transport.send({ method: 'GET', path: `/${n}` }));
    expect(server.seen).toHaveLength(10);
    expect(server.accepted).toBeLessThanOrEqual(FOR_ONE_AT_A_TIME);
  });

  it('of a watch that the server ends are used again for the next', async () => {
    const server = await serve((_, response) => {
      response.write('{}\n');
      setTimeout(() => response.end(), 20);
    });
    const transport = connect(server.origin);
    for (let n = 0; n < 8; n++) await textOf(await transport.send({ method: 'GET', path: '/?watch=true' }));
    expect(server.accepted).toBeLessThanOrEqual(FOR_ONE_AT_A_TIME);
  });

  it('are no more than they may be, and who waits has its turn', async () => {
    const server = await serve((_, response) => {
      setTimeout(() => response.end('{}'), 20);
    });
    const transport = connect(server.origin, {}, { maxConnections: 2 });
    const texts = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => textOf(await transport.send({ method: 'GET', path: `/${n}` }))),
    );
    expect(texts).toHaveLength(12);
    expect(server.accepted).toBe(2);
  });

  it('close with the transport, what is under way too', async () => {
    const server = await serve((_, response) => {
      response.write('{}\n');
    });
    const transport = connect(server.origin);
    const { body } = await transport.send({ method: 'GET', path: '/?watch=true' });
    const reading = (async () => {
      for await (const _ of body);
    })();
    const broken = expect(reading).rejects.toThrow();
    await transport.close();
    await broken;
    await waitFor(() => server.open === 0, 'the connection to close');
  });

  it('are given up by whoever stops reading', async () => {
    const server = await serve((_, response) => {
      response.write('{}\n');
    });
    const { body } = await connect(server.origin).send({ method: 'GET', path: '/?watch=true' });
    for await (const _ of body) break;
    await waitFor(() => server.open === 0, 'the connection to close');
  });

  it('are given up by the signal, before the answer and within it', async () => {
    const server = await serve(({ path }, response) => {
      if (path === '/within') response.write('{}\n');
    });
    const transport = connect(server.origin);
    const before = new AbortController();
    const waiting = expect(transport.send({ method: 'GET', path: '/before', signal: before.signal })).rejects.toThrow(
      'given up',
    );
    await waitFor(() => server.seen.length === 1, 'the request');
    before.abort(new Error('given up'));
    await waiting;
    const within = new AbortController();
    const { body } = await transport.send({ method: 'GET', path: '/within', signal: within.signal });
    within.abort(new Error('given up'));
    await expect(textOf({ status: 200, headers: {}, body })).rejects.toThrow('given up');
    await waitFor(() => server.open === 0, 'the connections to close');
  });
});

describe('TLS', () => {
  it('verifies the server against the CA of the cluster alone', async () => {
    const server = await serve();
    const stranger = newAuthority('another CA').cert;
    for (const tls of [{ ca: stranger }, {}]) {
      await expect(connect(server.origin, { tls }).send({ method: 'GET', path: '/' })).rejects.toThrow(/certificate/);
    }
    expect(server.seen).toHaveLength(0);
  });

  it('verifies the name of the server', async () => {
    const server = await serve(undefined, authority.issue('elsewhere', { dns: 'api.internal', isLoopback: false }));
    await expect(connect(server.origin).send({ method: 'GET', path: '/' })).rejects.toThrow(/altnames/);
    const named = connect(server.origin, { tls: { ca: authority.cert, servername: 'api.internal' } });
    expect((await named.send({ method: 'GET', path: '/' })).status).toBe(200);
  });

  it('shows a certificate of its own', async () => {
    const server = await serve();
    const own = authority.issue('operator');
    const transport = connect(server.origin, { tls: { ca: authority.cert, ...own } });
    await textOf(await transport.send({ method: 'GET', path: '/' }));
    expect(server.seen[0]?.client).toBe('operator');
  });
});

describe('a token that is refused', () => {
  /** Its token counts up with each refusal. */
  function renewing(step: number) {
    let token = 1;
    const refused: (string | undefined)[] = [];
    const cluster: Partial<Cluster> = {
      authorization: async () => `Bearer ${token}`,
      refused: (authorization) => {
        refused.push(authorization);
        token += step;
      },
    };
    return { cluster, refused };
  }

  it('is replaced by a new one, and the request sent once more', async () => {
    const server = await serve(({ headers }, response) => {
      response.writeHead(headers.authorization === 'Bearer 2' ? 200 : 401).end('{}');
    });
    const { cluster, refused } = renewing(1);
    const answer = await connect(server.origin, cluster).send({ method: 'POST', path: '/', body: '{"a":1}' });
    expect(answer.status).toBe(200);
    expect(server.seen.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}']);
    expect(refused).toEqual(['Bearer 1']);
    expect(server.accepted).toBeLessThanOrEqual(FOR_ONE_AT_A_TIME);
  });

  it('is told where the new one is refused as well', async () => {
    const server = await serve((_, response) => response.writeHead(401).end('{"reason":"Unauthorized"}'));
    const answer = await connect(server.origin, renewing(1).cluster).send({ method: 'GET', path: '/' });
    expect([answer.status, await textOf(answer)]).toEqual([401, '{"reason":"Unauthorized"}']);
    expect(server.seen).toHaveLength(2);
  });

  it('is told at once where there is no other', async () => {
    const server = await serve((_, response) => response.writeHead(401).end('{"reason":"Unauthorized"}'));
    const answer = await connect(server.origin, renewing(0).cluster).send({ method: 'GET', path: '/' });
    expect([answer.status, await textOf(answer)]).toEqual([401, '{"reason":"Unauthorized"}']);
    expect(server.seen).toHaveLength(1);
  });

  it('that never comes holds nobody who gave up', async () => {
    const server = await serve();
    const controller = new AbortController();
    const transport = connect(server.origin, { authorization: () => new Promise(() => {}) });
    const sending = transport.send({ method: 'GET', path: '/', signal: controller.signal });
    controller.abort(new Error('given up'));
    await expect(sending).rejects.toThrow('given up');
    expect(server.seen).toHaveLength(0);
  });
});

describe('a client over it', () => {
  it('has no connection of its own for each list and watch, and mends what breaks', async () => {
    const streams: ServerResponse[] = [];
    const server = await serve(({ path }, response) => {
      if (!path.includes('watch=true')) response.end(JSON.stringify(listOf(10, [configMap(3)])));
      else {
        response.flushHeaders();
        streams.push(response);
      }
    });
    const changes: string[] = [];
    const client = new ApiClient(connect(server.origin));
    const reflection = reflect({
      client,
      resource: CONFIG_MAPS,
      onChange: () => changes.push([...reflection.objects.values()].map((one) => one.metadata.resourceVersion).join()),
    });
    await reflection.whenSynced;
    await waitFor(() => streams.length === 1, 'the watch');
    streams[0]?.write(line('MODIFIED', configMap(11)));
    await waitFor(() => changes.includes('11'), 'the first event');
    streams[0]?.end();
    await waitFor(() => streams.length === 2, 'the second watch');
    expect(server.accepted).toBeLessThanOrEqual(FOR_ONE_AT_A_TIME);
    streams[1]?.destroy();
    await waitFor(() => streams.length === 3, 'the third watch');
    streams[2]?.write(line('MODIFIED', configMap(12)));
    await waitFor(() => changes.includes('12'), 'the event after the break');
    expect(server.seen.filter(({ path }) => !path.includes('watch=true'))).toHaveLength(1);
    reflection.close();
    await waitFor(() => streams[2]?.destroyed === true, 'the watch to close');
  });
});
