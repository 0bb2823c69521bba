/** Edits of manifests while requests run: served within a second, and no request fails because of them. */
import { rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { apiKey, config, defaultConfig } from '../fakes/objects.ts';
import { chatStream } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { endAll, type Running, start } from '../operator/embedded-process.ts';
import { makeFolder, sleep } from '../operator/folder.ts';

afterEach(endAll);

const KEY = 'live-key-0123456789abc';

function serving(model: string): string {
  return (
    defaultConfig('house', { provider: 'simulator', override_params: { model: 'echo' }, name: model }) +
    apiKey('live', KEY)
  );
}

interface Load {
  readonly failures: string[];
  readonly answers: string[];
  stop(): Promise<void>;
}

/** `width` callers, each asking again as soon as it is answered. */
function loadOn({ origin }: Running, width: number, stream: boolean): Load {
  const failures: string[] = [];
  const answers: string[] = [];
  let going = true;
  const caller = async () => {
    while (going) {
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ model: 'any', stream, messages: [{ role: 'user', content: 'Hello' }] }),
      });
      const text = await response.text();
      const whole = response.status === 200 && (!stream || text.endsWith('[DONE]\n\n'));
      if (whole) answers.push(text);
      else failures.push(`${response.status} ${text.slice(0, 200)}`);
    }
  };
  const callers = Promise.all(
    Array.from({ length: width }, () => caller().catch((error: Error) => failures.push(String(error)))),
  );
  return {
    failures,
    answers,
    stop: async () => {
      going = false;
      await callers;
    },
  };
}

async function untilAnswered(load: Load, word: string): Promise<number> {
  const startedMs = performance.now();
  while (!load.answers.at(-1)?.includes(word)) {
    if (performance.now() - startedMs > 3_000) throw new Error(`no ${word} within 3 s`);
    await sleep(2);
  }
  return performance.now() - startedMs;
}

describe('an edit under load', () => {
  it.each([false, true])('changes the answers within a second, and fails no request (streams: %s)', async (stream) => {
    const upstreams: Upstream[] = [];
    for (const word of ['first', 'second'])
      upstreams.push(await startUpstream(stream ? chatStream({ text: word }) : answering(word)));
    const at = (index: number) =>
      defaultConfig('house', { provider: 'openai', api_key: 'k', custom_host: `${upstreams[index]?.origin}/v1` }) +
      apiKey('live', KEY);
    const running = await start(makeFolder({ 'm/a.yaml': at(0) }), ['--manifests', 'm']);
    const load = loadOn(running, 8, stream);
    try {
      await untilAnswered(load, 'first');
      for (const [index, word] of [
        [1, 'second'],
        [0, 'first'],
        [1, 'second'],
        [0, 'first'],
      ] as const) {
        running.folder.write('m/a.yaml', at(index));
        expect(await untilAnswered(load, word), 'ms until it is served').toBeLessThan(1_000);
      }
    } finally {
      await load.stop();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    }
    expect(load.failures).toEqual([]);
    expect(load.answers.length).toBeGreaterThan(50);
  });

  it('half-written, emptied, broken or refused files fail no request', async () => {
    const whole = serving('a');
    const running = await start(makeFolder({ 'm/a.yaml': whole }), ['--manifests', 'm']);
    const load = loadOn(running, 6, false);
    const bad = [
      whole.slice(0, 60),
      '',
      'half: [',
      '{{{',
      whole.replace('simulator', 'nobody'),
      config('house', { speed: 1 }),
    ];
    for (const text of bad) {
      running.folder.write('m/a.yaml', text);
      await sleep(200);
      running.folder.write('m/a.yaml', whole);
      await sleep(100);
    }
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.answers.length).toBeGreaterThan(50);
  });

  it('other objects come and go without a failed request', async () => {
    const running = await start(makeFolder({ 'm/a.yaml': serving('a') }), ['--manifests', 'm']);
    const load = loadOn(running, 6, true);
    for (let round = 0; round < 10; round += 1) {
      for (let file = 0; file < 10; file += 1)
        running.folder.write(
          `m/other-${file}.yaml`,
          config(`other-${file}`, { provider: 'simulator', request_timeout: round + 1 }),
        );
      await sleep(60);
      for (let file = 0; file < 10; file += 2) rmSync(running.folder.at(`m/other-${file}.yaml`));
      await sleep(60);
    }
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  it('a key that is disabled is refused within a second, and good again after', async () => {
    const disabled = serving('a').replace('"type":"workspace-service"', '"type":"workspace-service","disabled":true');
    expect(disabled).toContain('disabled');
    const running = await start(makeFolder({ 'm/a.yaml': serving('a') }), ['--manifests', 'm']);
    const status = async () =>
      (await fetch(`${running.origin}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })).status;
    for (const [text, wanted] of [
      [disabled, 401],
      [serving('a'), 200],
    ] as const) {
      const startedMs = performance.now();
      running.folder.write('m/a.yaml', text);
      await expect.poll(status, { interval: 5, timeout: 3_000 }).toBe(wanted);
      expect(performance.now() - startedMs).toBeLessThan(1_000);
    }
  });
});

function answering(word: string) {
  return {
    send(response: import('node:http').ServerResponse) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          choices: [{ index: 0, message: { role: 'assistant', content: word }, finish_reason: 'stop' }],
        }),
      );
    },
  };
}
