/** Waiters for a change through their own gateway are woken at once: in these tests only reads take time. */
import { describe, expect, test } from 'vitest';
import { openMemoryGateway } from './memory-gateway.ts';

/** Far less than the pause between two polls. */
const AT_ONCE_MS = 50;
/** A poll is over before this many promises have been resolved. */
const TURNS_OF_A_LOOK = 80;

async function open() {
  const gateway = openMemoryGateway();
  const session = await gateway.newSession();
  await gateway.ask('PUT', `kv/p/held?acquire=${session}`, 'v');
  await gateway.ask('PUT', 'kv/p/plain', 'v');
  const indexOf = async (path: string) => (await gateway.ask('GET', path)).headers.get('x-consul-index') ?? '';
  return {
    ...gateway,
    session,
    /** Waits for a change of what a path shows, and makes it; `turns` of the wait after its begin instead of when it has settled. */
    wakes: async (path: string, change: () => Promise<unknown>, turns?: number): Promise<boolean> => {
      const joint = path.includes('?') ? '&' : '?';
      const waiting = gateway.ask('GET', `${path}${joint}index=${await indexOf(path)}&wait=60s`);
      for (let turn = 0; turn < (turns ?? 0); turn++) await Promise.resolve();
      if (turns === undefined) await gateway.world.clock.advance(0);
      await change();
      await gateway.world.clock.advance(AT_ONCE_MS);
      const answered = await Promise.race([waiting.then(() => true), Promise.resolve().then(() => false)]);
      await gateway.world.clock.advance(70_000);
      await waiting;
      return answered;
    },
  };
}

describe('a wait is over at once', () => {
  test.each([
    ['kv/p/plain', 'a write', 'PUT', 'kv/p/plain'],
    ['kv/p/plain', 'a deletion', 'DELETE', 'kv/p/plain'],
    ['kv/p/plain', 'a deletion of its prefix', 'DELETE', 'kv/p/?recurse'],
    ['kv/p/?recurse', 'a write', 'PUT', 'kv/p/plain'],
    ['kv/p/?keys', 'a new key', 'PUT', 'kv/p/new'],
    ['kv/p/?recurse', 'a deletion', 'DELETE', 'kv/p/plain'],
  ])('for %s, by %s', async (path, _what, method, changed) => {
    const { wakes, ask } = await open();

    expect(await wakes(path, () => ask(method, changed, method === 'PUT' ? 'another' : undefined))).toBe(true);
  });

  test.each(['kv/p/held', 'kv/p/?recurse'])('ends for %s, by a transaction', async (path) => {
    const { wakes, ask } = await open();
    const body = JSON.stringify([{ KV: { Verb: 'set', Key: 'p/held', Value: 'bmV3' } }]);

    expect(await wakes(path, () => ask('PUT', 'txn', body))).toBe(true);
  });

  test.each(['kv/p/held', 'kv/p/?recurse', 'session/list'])('ends for %s, by the end of a session', async (path) => {
    const { wakes, ask, session } = await open();

    expect(await wakes(path, () => ask('PUT', `session/destroy/${session}`))).toBe(true);
  });

  test('ends for kv/p/held, by a release', async () => {
    const { wakes, ask, session } = await open();

    expect(await wakes('kv/p/held', () => ask('PUT', `kv/p/held?release=${session}`))).toBe(true);
  });

  test.each([
    ['kv/p/plain', 'PUT', 'kv/p/plain'],
    ['kv/p/?recurse', 'PUT', 'kv/p/plain'],
    ['session/list', 'PUT', 'session/create'],
  ])('for %s, whenever in its first look the change comes', async (path, method, changed) => {
    const late: number[] = [];
    for (let turns = 0; turns < TURNS_OF_A_LOOK; turns++) {
      const { wakes, ask } = await open();
      if (!(await wakes(path, () => ask(method, changed, path === 'session/list' ? '{}' : 'another'), turns)))
        late.push(turns);
    }

    expect(late).toEqual([]);
  });

  test('does not end for changes elsewhere', async () => {
    const { wakes, ask } = await open();

    expect(await wakes('kv/p/plain', () => ask('PUT', 'kv/q', 'v'))).toBe(false);
    expect(await wakes('kv/p/?recurse', () => ask('PUT', 'kv/q', 'w'))).toBe(false);
  });
});
