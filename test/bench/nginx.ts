/** nginx twice: as the upstream that is not the bottleneck, and as the proxy that others are measured by. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Contestant, type UpstreamOrigins, WORKLOADS, type Workload } from './contestant.ts';
import { END_MARKER, STREAM_EVENTS, UNARY_ANSWER } from './payloads.ts';
import { type PinnedProcess, startPinned } from './process.ts';

/** A parameter of nginx's configuration holds at most 4,096 bytes. */
const PARAMETER_BYTES = 3_500;

/** Free ports of this machine, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise<void>((done) => server.close(() => done()))));
  return ports;
}

/** One process: no master, so that what the kernel counts is the worker's. */
function frame(directory: string, servers: string): string {
  return `
daemon off; master_process off; worker_rlimit_nofile 40000; pid ${directory}/pid; error_log ${directory}/error.log warn;
events { worker_connections 20000; multi_accept on; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; client_body_buffer_size 64k; tcp_nodelay on;
  client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi; scgi_temp_path ${directory}/scgi;
  ${servers}
}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Long text as variables that `return` joins. */
function variables(text: string): { set: string; all: string } {
  const parts = text.match(new RegExp(`[\\s\\S]{1,${PARAMETER_BYTES}}`, 'g')) ?? [];
  return {
    set: parts.map((part, index) => `set $part${index} ${quoted(part)};`).join('\n'),
    all: parts.map((_, index) => `\${part${index}}`).join(''),
  };
}

/** The filter replaces a word by itself: that makes nginx forget the length, and send chunks as a model server does. */
function upstreamServers(unaryPort: number, burstPort: number): string {
  const stream = variables(STREAM_EVENTS.join('') + END_MARKER);
  return `
  server { listen 127.0.0.1:${unaryPort}; default_type application/json; location / { return 200 ${quoted(UNARY_ANSWER)}; } }
  server { listen 127.0.0.1:${burstPort}; default_type text/event-stream; sub_filter_types *; sub_filter_once on;
    sub_filter 'data' 'data'; location / { ${stream.set} return 200 "${stream.all}"; } }`;
}

async function start(core: number, directory: string, servers: string): Promise<PinnedProcess> {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, frame(directory, servers));
  execFileSync('nginx', ['-t', '-q', '-c', file, '-p', directory], { stdio: 'pipe' });
  const running = startPinned(core, 'nginx', ['-c', file, '-p', directory]);
  await Promise.race([setTimeout(300), running.output]);
  return running;
}

/** Answers unary requests and bursts. */
export async function startNginxUpstream(core: number, directory: string) {
  const [unaryPort = 0, burstPort = 0] = await freePorts(2);
  const running = await start(core, directory, upstreamServers(unaryPort, burstPort));
  const origins = { unary: `http://127.0.0.1:${unaryPort}`, burst: `http://127.0.0.1:${burstPort}` };
  return { origins, stop: running.stop };
}

function proxyServer(port: number, target: string, workload: Workload): string {
  const buffering = workload === 'unary' ? 'on' : 'off';
  return `
  upstream ${workload} { server ${new URL(target).host}; keepalive 2000; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port} backlog=8192; location / { proxy_pass http://${workload}; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_buffering ${buffering}; proxy_buffer_size 16k; proxy_buffers 8 16k; } }`;
}

/** The yardstick: one worker, keep-alive on both sides, no access log. */
export async function startNginxProxy(core: number, directory: string, upstream: UpstreamOrigins): Promise<Contestant> {
  const ports = await freePorts(WORKLOADS.length);
  const portOf = (workload: Workload) => ports[WORKLOADS.indexOf(workload)] ?? 0;
  const servers = WORKLOADS.map((workload) => proxyServer(portOf(workload), upstream.origin(workload), workload));
  const { pid, stop } = await start(core, directory, servers.join(''));
  return {
    name: 'nginx',
    pid,
    stop,
    origin: (workload) => `http://127.0.0.1:${portOf(workload)}`,
    headers: () => ({}),
  };
}
