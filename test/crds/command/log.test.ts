import { describe, expect, it } from 'vitest';
import { isLogLevel, openLog } from '#crds/command/log.ts';
import { collectingSink } from '../../gateway/telemetry/collecting-sink.ts';

async function written(write: (log: ReturnType<typeof openLog>) => void, options: object = {}): Promise<string[]> {
  const sink = collectingSink();
  const log = openLog({ level: 'info', sink, ...options });
  write(log);
  await log.close();
  return sink.text.trimEnd().split('\n');
}

describe('the log of a process', () => {
  it('writes an event as a line of JSON, with the fields that every line has first', async () => {
    const [line = ''] = await written((log) =>
      log.event('warn', 'object not in order', { object: 'ApiKey a/b', more: 3, fine: false, none: undefined }),
    );
    expect(line).toMatch(
      /^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"warn","msg":"object not in order",/,
    );
    expect(JSON.parse(line)).toMatchObject({ object: 'ApiKey a/b', more: 3, fine: false });
    expect(JSON.parse(line)).not.toHaveProperty('none');
  });

  it('writes what has at least its level, and lets no field pass for another', async () => {
    const lines = await written((log) => {
      log.event('debug', 'unheard');
      log.event('info', 'heard', { level: 'error', msg: 'other', time: 'never' });
      expect([log.wants('debug'), log.wants('info'), log.wants('error')]).toEqual([false, true, true]);
    });
    expect(lines.map((line) => JSON.parse(line)).map(({ level, msg }) => [level, msg])).toEqual([['info', 'heard']]);
  });

  it('writes lines of another form beside', async () => {
    const eventLine = (level: string, message: string) => `${level}: ${message}\n`;
    const lines = await written(
      (log) => {
        log.event('info', 'one');
        log.add('two\n');
      },
      { eventLine },
    );
    expect(lines).toEqual(['info: one', 'two']);
  });

  it('knows its levels', () => {
    expect(['debug', 'info', 'warn', 'error', 'silent', 'loud', 'toString'].map(isLogLevel)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
