/** A process: one gateway that serves the snapshot of a file, and counts in a store if one is named. Says its origin as JSON on standard error: standard output is the log's. */
import { readFileSync } from 'node:fs';
import { storeAddress } from '#crds/command/store-address.ts';
import { snapshotSchema } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { type OpenStore, sharedStore } from '#gateway/limits/open-store.ts';
import { startGateway } from '#gateway/server.ts';

/** Nothing is counted by the replica alone, or the store would not be measured: so it has more time than it would have. */
const TIMEOUT_MS = 1_000;

function storeAt(url: string): OpenStore {
  const outcome = storeAddress(url);
  if ('problem' in outcome) throw new Error(outcome.problem);
  const files = { passwordFile: undefined, caFile: undefined };
  return sharedStore({ address: outcome.value, prefix: 'bench', timeoutMs: TIMEOUT_MS, ...files });
}

const [, , file, store] = process.argv;
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
  ...(store === undefined ? {} : { store: storeAt(store) }),
});
const snapshot = snapshotSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
const { refused } = gateway.load(encodeSnapshot(snapshot, 1));
if (refused !== undefined) throw new Error(refused);
console.error(JSON.stringify({ origin: gateway.origin }));
process.once('SIGTERM', () => void gateway.drain().then(() => process.exit(0)));
