/** Which objects a reflection says are other than before. */
import { describe, expect, it } from 'vitest';
import { reflected } from './reflected.ts';
import { bookmark, configMap, json, line, listOf } from './scripted-transport.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

async function told(...chunks: readonly string[]) {
  const changed: (readonly string[] | 'any')[] = [];
  const run = reflected(
    { list: () => json(listOf(10, [configMap(8, { name: 'a' }), configMap(9, { name: 'b' })])) },
    { onChange: (keys) => changed.push(keys === undefined ? 'any' : [...keys].sort()) },
  );
  await pass(10);
  for (const chunk of chunks) {
    run.watch.write(chunk);
    await pass(10);
  }
  run.reflection.close();
  await pass(10);
  return changed;
}

describe('onChange', () => {
  it('says that any may be, after a list', async () => {
    expect(await told()).toEqual(['any']);
  });

  it('names what was added, modified and deleted', async () => {
    const events = [
      line('MODIFIED', configMap(11, { name: 'a' })),
      line('ADDED', configMap(12, { name: 'c' })),
      line('DELETED', configMap(13, { name: 'b' })),
    ];
    expect(await told(...events)).toEqual(['any', ['n/a'], ['n/c'], ['n/b']]);
  });

  it('names each once, and all that came together at once', async () => {
    const events = [
      line('MODIFIED', configMap(11, { name: 'a' })),
      line('MODIFIED', configMap(12, { name: 'b' })),
      line('MODIFIED', configMap(13, { name: 'a' })),
    ];
    expect(await told(events.join(''))).toEqual(['any', ['n/a', 'n/b']]);
  });

  it('names nothing that comes too late to change anything, and no bookmark', async () => {
    const late = line('MODIFIED', configMap(7, { name: 'a' }));
    expect(await told(late, bookmark(20), late)).toEqual(['any']);
  });

  it('names what was whole before a line that is broken', async () => {
    const events = `${line('MODIFIED', configMap(11, { name: 'a' }))}{"type":\n`;
    expect((await told(events)).slice(0, 2)).toEqual(['any', ['n/a']]);
  });
});
