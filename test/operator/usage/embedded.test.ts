/** Alerts of embedded mode: from the gateway of the same process, once each over restarts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { waitFor } from '../../fakes/wait-for.ts';
import { atEnd, endAll, type Running, start } from '../embedded-process.ts';
import { makeFolder } from '../folder.ts';
import { documents, manifest } from '../worlds.ts';
import { startHook } from './hook.ts';

afterEach(endAll);

const TIMEOUT_MS = 60_000;
const KEY = 'an-embedded-key-0123456789';
const BUDGET = { type: 'tokens', credit_limit: 1_000_000, alert_threshold: 20 };
const WORLD = documents(
  manifest('Secret', 'team-a', 'app-api-key', { api_key: KEY }),
  manifest('ApiKey', 'team-a', 'app', {
    type: 'workspace-service',
    usage_limits: BUDGET,
    alert_emails: ['ann@example.com'],
  }),
  manifest('GatewayConfig', 'team-a', 'all', { provider: 'simulator' }, { 'modelgateway.dev/default': 'true' }),
);

async function ask({ origin }: Running): Promise<void> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'word '.repeat(60) }] }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('usage')]);
}

describe('embedded mode', () => {
  it(
    'gives an alert once, to the terminal and to the webhook, and remembers it',
    async () => {
      const hook = await startHook();
      atEnd(() => hook.close());
      const folder = makeFolder();
      folder.write('manifests/all.yaml', WORLD);
      const argv = ['--manifests', 'manifests', '--alert-webhook', hook.url];
      const first = await start(folder, argv);
      await ask(first);
      await waitFor(() => hook.alerts.length === 1, 'the alert', 20_000);
      expect(hook.alerts[0]).toMatchObject({
        object: { kind: 'ApiKey', namespace: 'team-a', name: 'app', limit: 'usage_limits[0]' },
        ...{ unit: 'tokens', group: null, alert_threshold: 20, alert_emails: ['ann@example.com'] },
      });
      expect(first.out()).toMatch(/^usage alert: ApiKey app: \d+ tokens of 1000000 tokens used/m);
      const file = join(folder.path, '.model-gateway/alerts.json');
      await waitFor(() => isIn(file), 'the file', 20_000);
      first.child.kill('SIGKILL');
      await first.ended;
      const second = await start(folder, argv);
      await ask(second);
      const page = async () => (await (await fetch(`${second.admin}/usage`)).json()) as { budgets: { used: string }[] };
      await waitFor(async () => Number((await page()).budgets[0]?.used) > 20, 'usage', 20_000);
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      expect(hook.alerts).toHaveLength(1);
      expect(second.out()).not.toContain('usage alert');
      expect(second.errors()).toBe('');
    },
    TIMEOUT_MS,
  );
});

function isIn(file: string): boolean {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).alerted.length === 1;
  } catch {
    return false;
  }
}
