/** Workflows for the requirements of steps, waits, child contexts and conditions. */
import { JitterStrategy, StepSemantics, createWaitStrategy } from '@aws/durable-execution-sdk-js';
import type { Value, Workflow } from './workflow.ts';
import { boom, caught, none, say, tries, until, upper } from './workflow.ts';

class TransientError extends Error {
  override name = 'TransientError';
}

export const STEPS: Readonly<Record<string, Workflow>> = {
  '1-1': () => (e, c) => c.step(async () => `Hello, ${e}!`),
  '1-2': () => (e, c) => c.step('custom_step_name', async () => `Hello, ${e}!`),
  '1-3': () => async (_, c) => {
    const a = await c.step('a', async () => 'first');
    return c.step('b', async () => `${a}_second`);
  },
  '1-4': () => (e, c) => c.step(async () => ({ user: e, count: 2 })),
  '1-5': () => async (_, c) => c.step(async () => null),
  '1-6': () => (e, c) => c.step('s', async () => e, { serdes: upper }),
  '1-7': () => (e, c) =>
    c.step('greet', async (x) => {
      x.logger.info(`Greeting step started for: ${e}`);
      x.logger.info(`Greeting step completed with: Hello, ${e}!`);
      return `Hello, ${e}!`;
    }),
  '1-8': () => async (_, c) => {
    const v = await c.step('s', async () => 'computed');
    await c.wait({ seconds: 2 });
    return v;
  },
  '1-9': (s) => async (_, c) => {
    const v = await c.step('s', async () => (s.n++ === 0 ? 'cached_value' : 'ran twice'));
    await c.wait({ seconds: 1 });
    return v;
  },
  '1-10': () => async (_, c) => {
    const v = await caught(
      () => c.step('s', boom, none),
      (error) => error.message,
    );
    await c.wait({ seconds: 1 });
    return v;
  },
  '1-11': (s) => (_, c) => c.step('s', async () => (s.n++ === 0 ? boom() : 'Operation succeeded'), tries(3)),
  '1-12': () => (_, c) => c.step('s', boom, tries(4)),
  '1-13': (s) => (_, c) => c.step('s', async () => (s.n++ < 2 ? boom() : 'ok')),
  '1-14': (s) => (_, c) => c.step('s', async () => (s.n++ < 2 ? boom() : 'ok'), tries(5, 2, 3)),
  '1-15': (s) => (_, c) =>
    c.step(
      's',
      async () => {
        if (s.n++ === 0) throw new TransientError('later');
        return 'ok';
      },
      {
        retryStrategy: (error) =>
          error instanceof TransientError ? { shouldRetry: true, delay: { seconds: 1 } } : { shouldRetry: false },
      },
    ),
  '1-16': () => (_, c) =>
    c.step(
      's',
      async () => {
        throw new TransientError('never');
      },
      none,
    ),
  '1-17': (s) => (e, c) =>
    c.step(
      'at_most_once_flaky_step',
      async (x) => {
        x.logger.info(String(e));
        return s.crash();
      },
      { semantics: StepSemantics.AtMostOncePerRetry, ...none },
    ),
  '1-18': (s) => (e, c) =>
    c.step(
      's',
      async (x) => {
        x.logger.info(String(e));
        return s.n++ === 0 ? s.crash() : 'succeeded on second attempt';
      },
      { semantics: StepSemantics.AtMostOncePerRetry, ...tries(3) },
    ),
  '1-19': () => (_, c) => c.step('s', boom, none),
  '1-20': () => (_, c) =>
    caught<Value, Value>(
      () => c.step('s', boom, none),
      () => c.step('fallback', say('fallback_result')),
    ),

  '2-1': () => async (_, c) => c.wait({ seconds: 2 }),
  '2-2': () => async (_, c) => c.wait('custom_wait_name', { seconds: 2 }),
  '2-3': () => async (_, c) => {
    await c.wait('wait-1', { seconds: 2 });
    await c.wait('wait-2', { seconds: 2 });
    return { completedWaits: 2 };
  },
  '2-4': () => async (_, c) => c.wait({ minutes: 1 }),
  '2-5': () => async (_, c) => c.wait({ hours: 1 }),

  '3-1': () => (e, c) => c.runInChildContext('child', (k) => k.step('s', say(e))),
  '3-2': () => (e, c) => c.runInChildContext(e.name, (k) => k.step('s', say(e.value))),
  '3-3': () => (e, c) =>
    c.runInChildContext('child', async (k) => {
      const a = await k.step('a', say(e));
      return k.step('b', say(a));
    }),
  '3-4': () => (_, c) => c.runInChildContext('child', (k) => k.step('s', boom, none)),
  '3-5': () => async (e, c) => {
    await caught(
      () => c.runInChildContext('child', (k) => k.step('s', boom, none)),
      () => null,
    );
    return c.step('recovery', say(e));
  },
  '3-6': () => (e, c) =>
    c.runInChildContext('outer', async (k) => {
      const v = await k.step('o', say(e));
      return k.runInChildContext('inner', (kk) => kk.step('i', say(v)));
    }),
  '3-7': (s) => (e, c) =>
    c.runInChildContext('child', (k) => k.step('s', async () => (s.n++ === 0 ? boom() : e), tries(3))),
  '3-8': () => (_, c) => c.runInChildContext('child', (k) => k.step('s', boom, tries(2))),
  '3-9': () => async (e, c) => {
    const v = await c.runInChildContext('child', (k) => k.step('s', say(e)));
    await c.wait({ seconds: 1 });
    return v;
  },
  '3-10': () => (e, c) =>
    c.runInChildContext('child', async (k) => {
      const v = await k.step('s', say(e));
      await k.wait({ seconds: 1 });
      return v;
    }),
  '3-11': () => async (e, c) => {
    c.configureLogger({ modeAware: false });
    const v = await c.runInChildContext('child', async (k) => {
      k.configureLogger({ modeAware: false });
      const small = await k.step('s', say('x'));
      k.logger.info(String(e));
      return String(small).repeat(300 * 1024);
    });
    await c.wait({ seconds: 1 });
    return v.length;
  },
  '3-12': (s) => (e, c) => c.runInChildContext('child', (k) => k.step('s', async () => (s.n++ === 0 ? s.crash() : e))),
  '3-13': () => async (e, c) => {
    const v = await c.runInChildContext('child', async (k) => {
      await k.wait({ seconds: 1 });
      return e;
    });
    return c.step('s', say(v));
  },
  '3-14': () => (e, c) =>
    c.runInChildContext('child', (k) => k.step('s', say(e)), {
      serdes: { serialize: async (v: Value) => String(v).toUpperCase(), deserialize: async (d: Value) => d },
    }),
  '3-15': () => (_, c) => c.runInChildContext('child', boom),
  '3-16': () => async (_, c) => c.runInChildContext('child', async () => null),
  '3-17': () => async (e, c) => {
    c.configureLogger({ modeAware: false });
    const v = await c.runInChildContext('child', async (k) => {
      k.logger.info(String(e));
      return e;
    });
    await c.wait({ seconds: 1 });
    return v;
  },
  '3-18': () => async (e, c) => {
    const v = await c.runInChildContext('child', async (k) => {
      const r = await k.step('s', say(e));
      await k.wait({ seconds: 1 });
      return r;
    });
    const w = await c.step('s2', say(v));
    await c.wait({ seconds: 1 });
    return w;
  },

  '6-1': () => (e, c) => c.waitForCondition(async (n: number) => n + 1, { initialState: 0, waitStrategy: until(e) }),
  '6-2': () => (_, c) => c.waitForCondition(async (n: number) => n, { initialState: 5, waitStrategy: until(5) }),
  '6-3': () => (e, c) =>
    c.waitForCondition('poll-status', async (n: number) => n + 1, { initialState: 0, waitStrategy: until(e) }),
  '6-4': () => (e, c) => c.waitForCondition(async (n: number) => n + 1, { initialState: 5, waitStrategy: until(e) }),
  '6-5': () => (e, c) => c.waitForCondition(async (n: number) => n + 1, { initialState: 0, waitStrategy: until(e, 2) }),
  '6-6': () => (_, c) =>
    c.waitForCondition(async (n: number) => n + 1, {
      initialState: 0,
      waitStrategy: createWaitStrategy({
        maxAttempts: 3,
        initialDelay: { seconds: 1 },
        backoffRate: 1,
        jitter: JitterStrategy.NONE,
        shouldContinuePolling: () => true,
      }),
    }),
  '6-7': () => (_, c) => c.waitForCondition(boom, { initialState: 0, waitStrategy: until(1) }),
  '6-8': () => (_, c) =>
    caught(
      () => c.waitForCondition(boom, { initialState: 0, waitStrategy: until(1) }),
      () => 'recovered',
    ),
  '6-9': () => (_, c) =>
    c.waitForCondition(
      async (x: Value) => ({ status: x.attempts + 1 >= 2 ? 'DONE' : 'PENDING', attempts: x.attempts + 1 }),
      {
        initialState: { status: 'PENDING', attempts: 0 },
        waitStrategy: (x: Value) =>
          x.status === 'PENDING' ? { shouldContinue: true, delay: { seconds: 1 } } : { shouldContinue: false },
      },
    ),
  '6-10': () => (_, c) =>
    c.waitForCondition(async () => null as Value, { initialState: 0, waitStrategy: () => ({ shouldContinue: false }) }),
  '6-11': () => (_, c) =>
    c.waitForCondition(async (x: string) => `${x}x`, {
      initialState: '',
      waitStrategy: (x: string) =>
        x.length < 2 ? { shouldContinue: true, delay: { seconds: 1 } } : { shouldContinue: false },
      serdes: { serialize: async (v: Value) => `enc:${v}`, deserialize: async (d: Value) => String(d).slice(4) },
    }),
  '6-12': () => async (e, c) => {
    const v = await c.waitForCondition(async (n: number) => n + 1, { initialState: 0, waitStrategy: until(e) });
    return c.step('s', say(v * 10));
  },
  '6-13': () => async (_, c) => {
    const v = await c.waitForCondition(async (n: number) => n + 1, { initialState: 0, waitStrategy: until(2) });
    return c.waitForCondition(async (n: number) => n + 1, { initialState: v, waitStrategy: until(4) });
  },
};
