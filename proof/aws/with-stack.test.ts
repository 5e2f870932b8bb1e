import { describe, expect, test } from 'vitest';
import type { StackPorts } from './with-stack.ts';
import { Interrupted, LeftBehind, withStack } from './with-stack.ts';

/** A stack that records what happens to it, and interruptions by hand. */
function stage(faults: Partial<Pick<StackPorts, 'deploy' | 'destroy'>> = {}) {
  const log: string[] = [];
  const listeners = new Set<(stray?: Error) => void>();
  const stack: StackPorts = {
    remedy: 'stack Evidence may be left; remove it with --destroy-only',
    async deploy(signal) {
      log.push('deploy');
      await faults.deploy?.(signal);
    },
    async destroy() {
      log.push('destroy');
      await faults.destroy?.();
      log.push('destroyed');
    },
  };
  return {
    log,
    listeners,
    interrupt: (stray?: Error) => {
      for (const listener of listeners) listener(stray);
    },
    run: <T>(work: (signal: AbortSignal) => Promise<T>) =>
      withStack(
        stack,
        (listener) => {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
        work,
      ),
  };
}

const never = (): Promise<never> => Promise.withResolvers<never>().promise;
const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

describe('withStack', () => {
  test('returns the result after the removal', async () => {
    const { run, log, listeners } = stage();

    expect(await run(() => Promise.resolve(42))).toBe(42);

    expect(log).toEqual(['deploy', 'destroy', 'destroyed']);
    expect(listeners.size).toBe(0);
  });

  test.each([
    ['deployment', { deploy: () => Promise.reject(new Error('no')) }, () => Promise.resolve()],
    ['work', {}, () => Promise.reject(new Error('no'))],
  ])('removes the stack after a failure of the %s, and throws its error', async (_what, faults, work) => {
    const { run, log } = stage(faults);

    await expect(run(work)).rejects.toThrow(/^no$/);

    expect(log).toEqual(['deploy', 'destroy', 'destroyed']);
  });

  test('stops the deployment at an interruption, and removes the stack', async () => {
    const { run, log, interrupt } = stage({ deploy: untilAborted });
    const running = run(() => Promise.resolve());
    interrupt();

    await expect(running).rejects.toBeInstanceOf(Interrupted);

    expect(log).toEqual(['deploy', 'destroy', 'destroyed']);
  });

  test('does not wait for work that heeds no signal', async () => {
    const { run, log, interrupt } = stage();

    await expect(
      run(() => {
        interrupt();
        return never();
      }),
    ).rejects.toBeInstanceOf(Interrupted);

    expect(log).toEqual(['deploy', 'destroy', 'destroyed']);
  });

  test('a first interruption during the removal changes nothing', async () => {
    const hands: { interrupt?: () => void } = {};
    const { run, log, interrupt } = stage({ destroy: () => Promise.resolve(hands.interrupt?.()) });
    hands.interrupt = interrupt;

    expect(await run(() => Promise.resolve('evidence'))).toBe('evidence');

    expect(log).toEqual(['deploy', 'destroy', 'destroyed']);
  });

  test('removes the stack after a stray error, and after later ones', async () => {
    const hands: { fail?: () => void } = {};
    const { run, log, interrupt } = stage({ destroy: () => Promise.resolve(hands.fail?.()) });
    hands.fail = () => interrupt(new Error('another'));

    await expect(
      run(() => {
        interrupt(new Error('nobody caught it'));
        return never();
      }),
    ).rejects.toThrow(/^nobody caught it$/);

    expect(log).toEqual(['deploy', 'destroy', 'destroyed']);
  });

  test('names the remaining parts when a second interruption ends the removal', async () => {
    const { run, interrupt } = stage({ destroy: never });
    const running = run(() => {
      interrupt();
      return never();
    });
    await Promise.resolve();
    setTimeout(() => interrupt(), 0);

    const error: unknown = await running.catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(LeftBehind);
    expect(String(error)).toMatch(/removal was interrupted: stack Evidence may be left; .*--destroy-only/);
  });

  test('names the remaining parts and the first failure when the removal fails', async () => {
    const { run } = stage({ destroy: () => Promise.reject(new Error('access denied')) });
    const before = new Error('no');

    const error = await run(() => Promise.reject(before)).catch((thrown: unknown) => thrown as Error);

    expect(error).toBeInstanceOf(LeftBehind);
    expect(String(error)).toMatch(/removal failed \(access denied\): stack Evidence may be left/);
    expect(error.cause).toBe(before);
  });
});
