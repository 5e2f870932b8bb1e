/** Workflows for the requirements of parallel and map. */
import { NestingType } from '@aws/durable-execution-sdk-js';
import type { C, Value, Workflow } from './workflow.ts';
import { boom, one, say } from './workflow.ts';

const ofBatch = (r: Value) => ({
  completionReason: r.completionReason,
  status: r.status,
  successCount: r.successCount,
  failureCount: r.failureCount,
  totalCount: r.totalCount,
});
const ofBatch4 = ({ status: _, ...r }: Value) => r;
const ofBatch3 = (r: Value) => ({
  completionReason: r.completionReason,
  successCount: r.successCount,
  totalCount: r.totalCount,
});
const opSerdes = {
  serialize: async (r: Value) => `OPSERDE:${r.getResults().join(',')}`,
  deserialize: async (d: Value): Promise<Value> => ({ getResults: () => String(d).slice(8).split(',') }),
};

export const BATCHES: Readonly<Record<string, Workflow>> = {
  '8-1': () => async (_, c) =>
    (
      await c.parallel('parallel', [(k: C) => k.step('s', say('task-1')), (k: C) => k.step('s', say('task-2'))], one)
    ).getResults(),
  '8-2': () => async (_, c) => (await c.parallel([say('alpha'), say('beta')], one)).getResults(),
  '8-3': () => async (_, c) =>
    (
      await c.parallel(
        'p',
        [
          { name: 'first', func: say('one') },
          { name: 'second', func: say('two') },
        ],
        one,
      )
    ).getResults(),
  '8-4': () => async (_, c) => (await c.parallel('p', [say('hello'), say(42), say({ k: 'v' })], one)).getResults(),
  '8-5': () => async (_, c) => (await c.parallel('p', [])).getResults(),
  '8-6': () => async (_, c) =>
    ofBatch(
      await c.parallel('p', [say('ok'), boom, say('x')], { ...one, completionConfig: { toleratedFailureCount: 0 } }),
    ),
  '8-7': () => async (_, c) =>
    (
      await c.parallel('p', [boom, say('x')], { ...one, completionConfig: { toleratedFailureCount: 0 } })
    ).throwIfError(),
  '8-8': () => async (_, c) =>
    ofBatch3(
      await c.parallel('p', [say('a'), say('b'), say('c'), say('d')], {
        ...one,
        completionConfig: { minSuccessful: 2 },
      }),
    ),
  '8-9': () => async (_, c) =>
    ofBatch(
      await c.parallel('p', [say('a'), boom, say('c')], { ...one, completionConfig: { toleratedFailureCount: 1 } }),
    ),
  '8-10': () => async (_, c) =>
    ofBatch4(
      ofBatch(
        await c.parallel('p', [boom, boom, say('c')], { ...one, completionConfig: { toleratedFailureCount: 1 } }),
      ),
    ),
  '8-11': () => async (_, c) =>
    (await c.parallel('p', [say('r0'), say('r1'), say('r2')], { maxConcurrency: 2 })).getResults(),
  '8-12': () => async (_, c) =>
    (
      await c.parallel('p', [(k: C) => k.step('s', say('fa')), (k: C) => k.step('s', say('fb'))], {
        ...one,
        nesting: NestingType.FLAT,
      })
    ).getResults(),
  '8-13': () => async (_, c) =>
    ofBatch4(
      ofBatch(
        await c.parallel('p', [boom, boom, say('c'), say('d')], {
          ...one,
          completionConfig: { toleratedFailurePercentage: 25 },
        }),
      ),
    ),
  '8-14': () => async (_, c) =>
    (
      await c.parallel(
        'p',
        [
          (k: C) => k.step('s', say('b0')),
          async (k: C) => {
            await k.wait({ seconds: 2 });
            return 'b1';
          },
        ],
        one,
      )
    ).getResults(),
  '8-15': () => async (_, c) =>
    (
      await c.parallel('p', [say('x'), say('y')], {
        ...one,
        itemSerdes: {
          serialize: async (v: Value) => JSON.stringify({ wrapped: v }),
          deserialize: async (d: Value) => JSON.parse(d).wrapped,
        },
      })
    ).getResults(),
  '8-16': () => async (_, c) =>
    ofBatch(await c.parallel('p', [boom, boom, boom], { ...one, completionConfig: { toleratedFailureCount: 3 } })),
  '8-17': () => async (_, c) =>
    ofBatch(await c.parallel('p', [say('a'), boom, say('c')], { ...one, completionConfig: { minSuccessful: 3 } })),
  '8-18': () => async (_, c) =>
    ofBatch4(
      ofBatch(
        await c.parallel('p', [boom, boom, say('c'), say('d')], {
          ...one,
          completionConfig: { minSuccessful: 3, toleratedFailureCount: 1 },
        }),
      ),
    ),
  '8-19': () => async (_, c) => (await c.parallel('p', [say('a'), say('b')], { maxConcurrency: 0 })).getResults(),
  '8-20': () => async (_, c) => {
    const r = await c.parallel('p', [say('a'), boom, say('c')], {
      ...one,
      completionConfig: { toleratedFailureCount: 1 },
    });
    return {
      hasFailure: r.hasFailure,
      successCount: r.succeeded().length,
      failureCount: r.failed().length,
      errorCount: r.getErrors().length,
    };
  },
  '8-21': () => async (_, c) =>
    (
      await c.parallel(
        'outer',
        [
          async (k: C) =>
            (
              await k.parallel('inner', [(kk: C) => kk.step('s', say('i1')), (kk: C) => kk.step('s', say('i2'))], one)
            ).getResults(),
        ],
        one,
      )
    ).getResults(),
  '8-22': () => async (_, c) =>
    ofBatch(
      await c.parallel('p', [boom, say('b'), say('c'), say('d')], {
        ...one,
        completionConfig: { toleratedFailurePercentage: 25 },
      }),
    ),

  '9-1': () => async (e, c) =>
    (await c.map('map', e, (k: C, item: Value) => k.step('s', say(`Hello, ${item}!`)), one)).getResults(),
  '9-2': () => async (e, c) => (await c.map(e, async (_k: C, item: Value) => item * 2, one)).getResults(),
  '9-3': () => async (e, c) =>
    (await c.map('map', e, async (_k: C, item: Value, at: number) => item + at, one)).getResults(),
  '9-4': () => async (e, c) => (await c.map('map', e, async (_k: C, item: Value) => item)).getResults(),
  '9-5': () => async (_, c) =>
    ofBatch(
      await c.map('map', [0, 1, 2], async (_k: C, i) => (i === 1 ? boom() : 'ok'), {
        ...one,
        completionConfig: { toleratedFailureCount: 0 },
      }),
    ),
  '9-6': () => async (_, c) =>
    (
      await c.map('map', [0, 1], async (_k: C, i) => (i === 0 ? boom() : 'ok'), {
        ...one,
        completionConfig: { toleratedFailureCount: 0 },
      })
    ).throwIfError(),
  '9-7': () => async (_, c) =>
    ofBatch3(await c.map('map', [0, 1, 2, 3], async () => 'x', { ...one, completionConfig: { minSuccessful: 2 } })),
  '9-8': () => async (_, c) =>
    ofBatch(
      await c.map('map', [0, 1, 2], async (_k: C, i) => (i === 1 ? boom() : 'ok'), {
        ...one,
        completionConfig: { toleratedFailureCount: 1 },
      }),
    ),
  '9-9': () => async (_, c) =>
    ofBatch4(
      ofBatch(
        await c.map('map', [0, 1, 2], async (_k: C, i) => (i < 2 ? boom() : 'ok'), {
          ...one,
          completionConfig: { toleratedFailureCount: 1 },
        }),
      ),
    ),
  '9-10': () => async (_, c) =>
    ofBatch4(
      ofBatch(
        await c.map('map', [0, 1, 2, 3], async (_k: C, i) => (i < 2 ? boom() : 'ok'), {
          ...one,
          completionConfig: { toleratedFailurePercentage: 25 },
        }),
      ),
    ),
  '9-11': () => async (_, c) =>
    (await c.map('map', [0, 1, 2], async (_k: C, i) => `r${i}`, { maxConcurrency: 2 })).getResults(),
  '9-12': () => async (_, c) =>
    (
      await c.map('map', ['fa', 'fb'], (k: C, item) => k.step('s', say(item)), { ...one, nesting: NestingType.FLAT })
    ).getResults(),
  '9-13': () => async (e, c) =>
    (
      await c.map('named-items', e, async (_k: C, item: Value) => item * 10, {
        ...one,
        itemNamer: (item: Value) => `item-${item}`,
      })
    ).getResults(),
  '9-14': () => async (_, c) =>
    (
      await c.map('map', ['x', 'y'], async (_k: C, i: Value) => i.toUpperCase(), {
        ...one,
        itemSerdes: {
          serialize: async (v: Value) => `wrapped:${v}`,
          deserialize: async (d: Value) => String(d).slice(8),
        },
      })
    ).getResults(),
  '9-15': () => async (_, c) =>
    (
      await c.map(
        'map',
        [0, 1],
        async (k: C, i) => {
          if (i === 1) await k.wait({ seconds: 1 });
          return k.step('s', say(`r${i}`));
        },
        one,
      )
    ).getResults(),
  '9-16': () => async (_, c) => {
    const r = await c.map('map', [0, 1, 2, 3], async () => 'x'.repeat(70 * 1024), one);
    return { successCount: r.successCount, totalCount: r.totalCount };
  },
  '9-17': () => async (_, c) => {
    const r = await c.map('map', ['a', 'b'], async (_k: C, i: Value) => i.toUpperCase(), one);
    await c.wait({ seconds: 1 });
    return r.getResults();
  },
  '9-18': () => async (_, c) => {
    const r = await c.map('map', [0, 1], async (_k: C, i) => (i === 1 ? boom() : 'ok'), {
      ...one,
      completionConfig: { toleratedFailureCount: 1 },
    });
    await c.wait({ seconds: 1 });
    return ofBatch(r);
  },
  '9-19': () => async (_, c) =>
    (
      await c.map('map', ['x', 'y'], async (_k: C, i: Value) => i.toUpperCase(), { ...one, serdes: opSerdes as never })
    ).getResults(),
  '9-20': () => async (_, c) => {
    const r = await c.map('map', ['x', 'y'], async (_k: C, i: Value) => i.toUpperCase(), {
      ...one,
      serdes: opSerdes as never,
    });
    await c.wait({ seconds: 1 });
    return r.getResults();
  },
};
