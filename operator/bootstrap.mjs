// Runs a TypeScript entry on the project's own Node, after installing what is missing.
// Plain JavaScript for Node 20+: it is what a fresh clone starts with, before there is any dependency.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = `${root}node_modules/node/bin/${process.platform === 'win32' ? 'node.exe' : 'node'}`;
const stamp = `${root}node_modules/.model-gateway-lock`;

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(`${root}package-lock.json`))
    .digest('hex');
}

function isInstalled(digest) {
  return existsSync(node) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest;
}

function install(digest) {
  process.stderr.write('Installing dependencies (first run, or the lock file changed) ...\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const result = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, NODE_ENV: 'development' },
  });
  if (result.status !== 0) {
    process.stderr.write('npm ci failed: see its message above. The registry must be reachable once.\n');
    process.exit(result.status ?? 1);
  }
  if (!existsSync(node) || !statSync(node).isFile()) {
    process.stderr.write(`The pinned Node is missing at ${node}: does npm run install scripts here?\n`);
    process.exit(1);
  }
  writeFileSync(stamp, digest);
}

function run(args) {
  const child = spawn(node, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, INIT_CWD: process.env.INIT_CWD ?? process.cwd() },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

const digest = lockDigest();
if (!isInstalled(digest)) install(digest);
run(process.argv.slice(2));
