import { execFile } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { descriptorSink, type LineSink, LineWriter, type LineWriterOptions } from '#crds/command/line-writer.ts';
import { collectingSink, type Reaction, reactingSink } from '../../gateway/telemetry/collecting-sink.ts';

function writerOn(sink: LineSink, over: Partial<LineWriterOptions> = {}): LineWriter {
  const dropNotice = (dropped: number) => `dropped ${dropped}\n`;
  return new LineWriter({ sink, intervalMs: 20, batchChars: 1000, maxChars: 100_000, dropNotice, ...over });
}

function lines(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `line ${from + i} äöü\n`);
}

describe('gathering', () => {
  test('lines of one interval are one write', async () => {
    const sink = collectingSink();
    const writer = writerOn(sink);
    for (const line of lines(10)) writer.add(line);
    expect(sink.writes).toBe(0);
    await sleep(60);
    expect(sink.text).toBe(lines(10).join(''));
    expect(sink.writes).toBe(1);
  });

  test('a full batch does not wait', () => {
    const sink = collectingSink();
    const writer = writerOn(sink, { intervalMs: 60_000, batchChars: 50 });
    writer.add(`${'x'.repeat(40)}\n`);
    expect(sink.writes).toBe(0);
    writer.add(`${'y'.repeat(40)}\n`);
    expect(sink.text).toHaveLength(82);
  });

  test('lines during a write go with the next one, in order', async () => {
    const sink = collectingSink();
    const writer = writerOn(sink, { batchChars: 1 });
    for (const line of lines(100)) {
      writer.add(line);
      if (line.includes('0')) await sleep(1);
    }
    await writer.flush();
    expect(sink.text).toBe(lines(100).join(''));
    expect(sink.writes).toBeLessThan(100);
  });
});

describe('flush', () => {
  test('of nothing resolves', async () => {
    await expect(writerOn(collectingSink()).flush()).resolves.toBeUndefined();
  });

  test('resolves when all lines before it are out, even while others keep coming', async () => {
    const sink = collectingSink();
    const writer = writerOn(sink, { batchChars: 1 });
    let isOver = false;
    const pump = (async () => {
      for (let i = 0; !isOver; i++) {
        writer.add(`noise ${i}\n`);
        await sleep(0);
      }
    })();
    await sleep(5);
    writer.add('mine\n');
    await writer.flush();
    expect(sink.text).toContain('mine\n');
    isOver = true;
    await pump;
    await Promise.all([writer.flush(), writer.flush()]);
  });
});

describe('a reader in trouble', () => {
  test('nothing is lost or torn by partial writes and EAGAIN', async () => {
    const reaction = fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: 300 }) },
      fc.constant<Reaction>('EAGAIN'),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(reaction, { maxLength: 8 }),
        fc.integer({ min: 1, max: 60 }),
        async (reactions, count) => {
          const sink = reactingSink((call) => reactions[call] ?? 'all');
          const writer = writerOn(sink, { batchChars: 100 });
          for (const line of lines(count)) writer.add(line);
          await writer.flush();
          expect(sink.text).toBe(lines(count).join(''));
          expect(writer.dropped).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('memory is bounded: lines over the limit are dropped, counted and told of', async () => {
    let isStuck = true;
    const sink = reactingSink(() => (isStuck ? 'EAGAIN' : 'all'));
    const writer = writerOn(sink, { batchChars: 1, maxChars: 1000 });
    writer.add('first\n');
    for (let i = 0; i < 500; i++) writer.add(`${'x'.repeat(99)}\n`);
    expect(writer.dropped).toBe(490);
    isStuck = false;
    await writer.flush();
    expect(sink.text.startsWith('first\n')).toBe(true);
    expect(sink.text.endsWith('\ndropped 490\n')).toBe(true);
    expect(sink.text.split('\n')).toHaveLength(1 + 10 + 1 + 1);
    writer.add('after\n');
    await writer.flush();
    expect(sink.text.endsWith('dropped 490\nafter\n')).toBe(true);
  });

  test('one that went away costs its lines, counted, and no loop', async () => {
    const sink = reactingSink(() => 'EPIPE');
    const writer = writerOn(sink);
    for (const line of lines(7)) writer.add(line);
    await writer.flush();
    expect(writer.dropped).toBe(7);
    const writes = sink.writes;
    await sleep(100);
    expect(sink.writes).toBe(writes);
  });

  test('one that comes back gets what comes after, and is told', async () => {
    const sink = reactingSink((call) => (call === 0 ? 'EPIPE' : 'all'));
    const writer = writerOn(sink);
    writer.add('lost\n');
    await writer.flush();
    writer.add('kept\n');
    await writer.flush();
    expect(sink.text).toBe('kept\ndropped 1\n');
  });
});

describe('at the end of the process', () => {
  test('what waits is written at once, through EAGAIN and partial writes', () => {
    const reactions: Reaction[] = ['EAGAIN', 3, 'EAGAIN', 5];
    const sink = reactingSink((call) => reactions[call] ?? 'all');
    const writer = writerOn(sink, { intervalMs: 60_000 });
    for (const line of lines(5)) writer.add(line);
    writer.flushSync();
    expect(sink.text).toBe(lines(5).join(''));
  });

  test('a batch that waits for another try is written too, in order', async () => {
    let isStuck = true;
    const sink = reactingSink(() => (isStuck ? 'EAGAIN' : 'all'));
    const writer = writerOn(sink, { batchChars: 1 });
    writer.add('one\n');
    await sleep(5);
    writer.add('two\n');
    isStuck = false;
    writer.flushSync();
    expect(sink.text).toBe('one\ntwo\n');
    await sleep(60);
    expect(sink.text).toBe('one\ntwo\n');
  });

  test.each<Reaction>(['EAGAIN', 'EPIPE'])('a reader that only answers %s does not hold the process', (reaction) => {
    const sink = reactingSink(() => reaction);
    const writer = writerOn(sink, { intervalMs: 60_000 });
    writer.add('one\n');
    const startedAt = performance.now();
    writer.flushSync();
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(sink.text).toBe('');
  });
});

describe('real descriptors', () => {
  test('a file holds every line in order', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'lines-')), 'log');
    const writer = writerOn(descriptorSink(openSync(path, 'w')), { maxChars: 10_000_000 });
    for (const line of lines(20_000)) writer.add(line);
    await writer.flush();
    expect(readFileSync(path, 'utf8')).toBe(lines(20_000).join(''));
  });

  test('a process that ends by itself or by exit() loses nothing, into a pipe', async () => {
    const module = new URL('../../../gateway/telemetry/log.ts', import.meta.url).href;
    for (const ending of ['', 'process.exit(0);']) {
      const script = `
        import { createLog } from ${JSON.stringify(module)};
        const log = createLog({ level: 'info' });
        for (let i = 0; i < 500; i++) log.event('info', 'line ' + i);
        ${ending}`;
      const { NODE_OPTIONS: _options, ...env } = process.env;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
      const messages = stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { msg: string }).msg);
      expect(messages).toEqual(Array.from({ length: 500 }, (_, i) => `line ${i}`));
    }
  });
});
