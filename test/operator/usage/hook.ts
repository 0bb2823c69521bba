/** Who gets alerts: an HTTP server that can be broken. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UsageAlert } from '#operator/usage/alert.ts';

export interface Hook {
  readonly url: string;
  /** That were taken. */
  readonly alerts: readonly UsageAlert[];
  /** Of all posts, in order. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
  /** Status of the next answers; undefined: it does not answer at all. */
  answer: number | undefined;
  close(): Promise<void>;
}

export async function startHook(): Promise<Hook> {
  const [alerts, requests]: [UsageAlert[], { path: string; headers: IncomingMessage['headers'] }[]] = [[], []];
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const { answer } = hook;
    if (answer === undefined) return;
    if (answer < 300) alerts.push(JSON.parse(text));
    response.writeHead(answer).end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const hook: Hook = {
    url: `http://127.0.0.1:${port}/hook?token=canary`,
    alerts,
    requests,
    answer: 204,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return hook;
}
