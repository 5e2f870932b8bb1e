/** Workflows for the requirements of callbacks and invokes. */
import type { Value, Workflow } from './workflow.ts';
import { boom, caught, say, tries, upper, upperBack } from './workflow.ts';

export const OUTSIDE: Readonly<Record<string, Workflow>> = {
  '4-1': () => async (e, c) => {
    const [p] = await c.createCallback(e);
    return JSON.parse(await p);
  },
  '4-2': () => async (_, c) => {
    const [p] = await c.createCallback('approval');
    return await p;
  },
  '4-3': () => async (e, c) => (await c.createCallback(e, { timeout: { seconds: 5 } }))[0],
  '4-4': () => async (e, c) => (await c.createCallback(e, { heartbeatTimeout: { seconds: 5 } }))[0],
  '4-5': () => async (e, c) => (await c.createCallback(e, { heartbeatTimeout: { seconds: 10 } }))[0],
  '4-6': () => async (e, c) => (await c.createCallback(e))[0],
  '4-7': () => async (e, c) => {
    const [p] = await c.createCallback(e);
    await c.step('s', say(1));
    return await p;
  },
  '4-8': () => async (e, c) => {
    const [p] = await c.createCallback(e, { timeout: { seconds: 5 } });
    await c.step('s', say(1));
    return await p;
  },
  '4-9': () => async (e, c) => {
    const [p] = await c.createCallback(e);
    await c.wait({ seconds: 5 });
    return await p;
  },
  '4-10': () => async (e, c) => {
    const [p] = await c.createCallback(e);
    await c.wait({ seconds: 5 });
    return await p;
  },
  '4-11': () => async (e, c) => {
    const [p] = await c.createCallback(e, { timeout: { seconds: 3 } });
    await c.wait({ seconds: 6 });
    return await p;
  },
  '4-12': () => async (e, c) => {
    const [p] = await c.createCallback(e);
    const v = await p;
    await c.wait({ seconds: 2 });
    return v;
  },
  '4-13': () => async (e, c) => {
    const [p] = await c.createCallback(e);
    const v = await caught(
      () => p,
      (error) => error.message,
    );
    await c.wait({ seconds: 2 });
    return v;
  },
  '4-14': () => async (e, c) => {
    const [p] = await c.createCallback(e, { timeout: { seconds: 3 } });
    const v = await caught(
      () => p,
      (error) => error.message,
    );
    await c.wait({ seconds: 2 });
    return v;
  },
  '4-15': () => async (e, c) => {
    const [p] = await c.createCallback(e, {
      serdes: { deserialize: async (d: Value) => ({ ...JSON.parse(d), timestamp: new Date(JSON.parse(d).timestamp) }) },
    });
    const v: Value = await p;
    return { received: { ...v, timestamp: v.timestamp.getTime() / 1000 } };
  },
  '4-16': () => async (e, c) => {
    const [p] = await c.createCallback(e, { serdes: { deserialize: async (d: Value) => Number(d) } });
    const count = await p;
    return { count, doubled: count * 2 };
  },
  '4-17': () => async (e, c) => {
    const a = await (await c.createCallback(e[0]))[0];
    const b = await (await c.createCallback(e[1]))[0];
    return [a, b];
  },
  '4-18': () => async (e, c) => {
    const [a] = await c.createCallback(e[0]);
    const [b] = await c.createCallback(e[1]);
    return [await a, await b];
  },
  '4-19': () => async (e, c) => {
    const [a] = await c.createCallback(e[0]);
    const [b] = await c.createCallback(e[1]);
    const y = await b;
    return [await a, y];
  },

  '5-1': () => (e, c) => c.invoke('call', 'echo', e),
  '5-2': () => (e, c) => c.invoke(e.name, 'echo', e.payload),
  '5-3': () => (e, c) => c.invoke('echo', e),
  '5-4': () => (_, c) => c.invoke('echo', null),
  '5-5': () => (_, c) => c.invoke('failing', {}),
  '5-6': () => (_, c) =>
    caught(
      () => c.invoke('failing', {}),
      () => 'fallback',
    ),
  '5-7': () => async (_, c) => c.invoke('length', { text: 'x'.repeat(200 * 1024) }),
  '5-8': () => (e, c) => c.invoke('call', 'echo', e.payload, { tenantId: e.tenantId }),
  '5-9': () => async (_, c) => {
    const v = await c.invoke('echo', 1);
    await c.wait({ seconds: 1 });
    return v;
  },
  '5-10': () => async (_, c) => {
    const v = await caught(
      () => c.invoke('failing', {}),
      (error) => error.message,
    );
    await c.wait({ seconds: 1 });
    return v;
  },
  '5-11': () => async (_, c) => c.invoke('call', 'echo', await c.step('s', say('v'))),
  '5-12': () => async (_, c) => {
    const v = await c.invoke('call', 'echo', 'v');
    return c.step('s', say(v));
  },
  '5-13': () => (_, c) => c.runInChildContext('child', (k) => k.invoke('call', 'echo', 'v')),
  '5-14': () => async (_, c) => [await c.invoke('echo', 1), await c.invoke('echo', 2)],
  '5-15': () => (e, c) => c.invoke('echo', e, { payloadSerdes: upper }),
  '5-16': () => (e, c) => c.invoke('call', 'echo', e, { resultSerdes: upperBack }),

  '7-1': () => (e, c) => c.waitForCallback(e, async () => {}),
  '7-2': () => (_, c) => c.waitForCallback('approval', async () => {}),
  '7-3': () => (_, c) => c.waitForCallback(async () => {}),
  '7-4': () => (e, c) => c.waitForCallback(e, async () => {}),
  '7-5': () => (e, c) => c.waitForCallback(e, async () => {}, { timeout: { seconds: 3 } }),
  '7-6': () => (e, c) =>
    caught(
      () => c.waitForCallback(e, async () => {}),
      () => 'recovered',
    ),
  '7-7': () => (e, c) => c.waitForCallback(e, boom, tries(2)),
  '7-8': () => (e, c) => c.runInChildContext('wrapper', (k) => k.waitForCallback(e, async () => {})),
  '7-9': () => async (_, c) => {
    await c.waitForCallback('first', async () => {});
    return c.waitForCallback('second', async () => {});
  },
  '7-10': () => async (e, c) => {
    await c.wait({ seconds: 1 });
    await c.step('s', say('data'));
    return c.waitForCallback(e, async () => {});
  },
  '7-11': () => async (e, c) =>
    (
      await c.waitForCallback(e, async () => {}, {
        serdes: { deserialize: async (d: Value) => JSON.parse(d) },
      })
    ).status,
  '7-12': () => (e, c) => c.waitForCallback(e, async () => {}, { heartbeatTimeout: { seconds: 5 } }),
  '7-13': () => (e, c) => c.waitForCallback(e, async () => {}, { heartbeatTimeout: { seconds: 10 } }),
  '7-14': () => (e, c) =>
    caught(
      () => c.waitForCallback(e, async () => {}, { timeout: { seconds: 3 } }),
      () => 'timed-out-handled',
    ),
  '7-15': () => async (e, c) => c.waitForCallback(e, async () => {}),
};
