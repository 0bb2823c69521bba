/** G26: however an upstream's bytes are cut and framed, the caller reads the same. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { anthropicEvents } from '../fakes/anthropic-wire.ts';
import { config } from '../fakes/objects.ts';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { cutAt, pieces } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

const WIRES = ['openai', 'anthropic'] as const;
type Wire = (typeof WIRES)[number];
const PAIRS = WIRES.flatMap((client) => WIRES.map((upstream) => [client, upstream] as const));
const TEXT = 'Grüße 世界 😀 end';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) =>
    WIRES.map((wire) => config(wire, target(upstream as Upstream, { provider: wire }))).join(''),
  );
});
afterAll(() => stage.close());

function wireBytes(wire: Wire): Buffer {
  return Buffer.from((wire === 'openai' ? openAiEvents({ text: TEXT }) : anthropicEvents({ text: TEXT })).join(''));
}

async function read(client: Wire, wire: Wire, parts: readonly Uint8Array[], gapMs?: number): Promise<string> {
  stage.at(0).answer(pieces(parts, gapMs === undefined ? {} : { gapMs }));
  const path = client === 'openai' ? '/v1/chat/completions' : '/v1/messages';
  const body = { ...(client === 'openai' ? HI : HI_MESSAGE), stream: true };
  const text = await (await stage.gateway.post(path, body, { 'x-gateway-config': wire })).text();
  // Translated answers have a name and a time of their own.
  return text.replace(/"(id|created)":("[^"]*"|\d+)/g, '"$1":0');
}

describe.each(PAIRS)('a caller of %s, an upstream of %s', (client, wire) => {
  it('reads the same wherever the bytes are cut', async () => {
    const bytes = wireBytes(wire);
    const whole = await read(client, wire, [bytes]);
    expect(whole).toContain(client === 'openai' ? '[DONE]' : 'message_stop');
    const cuts = fc.array(fc.integer({ min: 1, max: bytes.length - 1 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(cuts, async (offsets) => {
        expect(await read(client, wire, cutAt(bytes, offsets), 1)).toBe(whole);
      }),
      { numRuns: 40 },
    );
  });

  it('reads the same byte by byte', async () => {
    const bytes = wireBytes(wire);
    const whole = await read(client, wire, [bytes]);
    expect(await read(client, wire, cutAt(bytes, [...bytes.keys()]))).toBe(whole);
  });

  const FRAMINGS: readonly (readonly [what: string, bend: (text: string) => string])[] = [
    ['CRLF', (text) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text) => `\ufeff${text}`],
    ['comments', (text) => text.replaceAll('\n\n', '\n\n: keep-alive\n\n')],
    ['comments inside events', (text) => text.replaceAll('data: ', ': note\ndata: ')],
    ['no space after the colon', (text) => text.replaceAll('data: ', 'data:').replaceAll('event: ', 'event:')],
    ['ids and retry', (text) => text.replaceAll('data: ', 'id: 7\nretry: 10\ndata: ')],
    ['blank lines between', (text) => text.replaceAll('\n\n', '\n\n\n\n')],
    ['no blank line at the end', (text) => text.trimEnd()],
    ['one line feed at the end', (text) => `${text.trimEnd()}\n`],
  ];
  it.each(FRAMINGS)('reads the same events with %s', async (_what, bend) => {
    const plain = wireBytes(wire);
    const events = (text: string) =>
      text
        .split('\n\n')
        .map((event) =>
          event
            .split('\n')
            .filter((line) => /^(data|event): /.test(line))
            .join('\n'),
        )
        .filter((event) => event !== '');
    const bent = Buffer.from(bend(plain.toString()));
    expect(events(await read(client, wire, [bent]))).toEqual(events(await read(client, wire, [plain])));
  });
});

describe('data over several lines', () => {
  it('is one event', async () => {
    const text =
      'data: {"id":"x","choices":[{"index":0,\ndata: "delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    const answer = await read('openai', 'openai', [Buffer.from(text)]);
    expect(answer).toContain('[DONE]');
    expect(await read('anthropic', 'openai', [Buffer.from(text)])).toContain('"text":"a"');
  });
});
