/** A process: one gateway that serves the snapshot of a file. Says its origin as JSON on standard error: standard output is the log's. */
import { readFileSync } from 'node:fs';
import { snapshotSchema } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { startGateway } from '#gateway/server.ts';

const [, , file] = process.argv;
if (file === undefined) throw new Error('The snapshot is missing: a JSON file as the first argument.');
const gateway = await startGateway({
  host: '127.0.0.1',
  port: 0,
  adminHost: '127.0.0.1',
  adminPort: 0,
  open: false,
  logLevel: 'info',
  graceMs: 0,
  drainMs: 0,
});
const snapshot = snapshotSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
const { refused } = gateway.load(encodeSnapshot(snapshot, 1));
if (refused !== undefined) throw new Error(refused);
console.error(JSON.stringify({ origin: gateway.origin }));
process.once('SIGTERM', () => void gateway.drain().then(() => process.exit(0)));
