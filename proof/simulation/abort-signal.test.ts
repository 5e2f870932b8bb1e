/** The signals of a history do what Node's do, whatever is done with them. */
import { describe, expect, test } from 'vitest';
import { withSimulatedAborts } from '../../test/support/machines/abort-signal.ts';
import { Prng } from '../../test/support/machines/prng.ts';

const PROGRAMS = 400;
const ACTS = 30;

describe('a simulated AbortSignal', () => {
  test(`does what Node's does, in ${PROGRAMS} programs drawn at random`, async () => {
    for (let seed = 1n; seed <= BigInt(PROGRAMS); seed++) {
      const expected = traceOf(seed);

      expect(await withSimulatedAborts(() => Promise.resolve(traceOf(seed)))).toEqual(expected);
    }
  });

  test('is there only while a history runs', async () => {
    const { AbortController: ofNode } = globalThis;

    const during = await withSimulatedAborts(() => Promise.resolve(globalThis.AbortController));

    expect(during).not.toBe(ofNode);
    expect(globalThis.AbortController).toBe(ofNode);
  });

  test('is given back when a history fails', async () => {
    const { AbortController: ofNode } = globalThis;

    await expect(withSimulatedAborts(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');

    expect(globalThis.AbortController).toBe(ofNode);
  });
});

/**
 * Controllers, signals that follow several, listeners that remove others or themselves abort:
 * the trace records the events in order, and the state of the signals.
 */
function traceOf(seed: bigint): readonly string[] {
  const prng = new Prng(seed);
  const trace: string[] = [];
  const controllers = Array.from({ length: 3 }, () => new AbortController());
  const signals = controllers.map(({ signal }) => signal);
  const listeners: (() => void)[] = [];
  const say = (name: string, { aborted, reason }: AbortSignal): void =>
    void trace.push(`${name}: ${aborted} ${String(reason)}`);
  const acts = [
    () => {
      const name = `listener ${listeners.length}`;
      const at = prng.integer(0, signals.length - 1);
      const other = prng.pick([undefined, ...controllers]);
      const removed = prng.pick([undefined, ...listeners]);
      const listener = (): void => {
        say(name, pick(signals, at));
        if (removed !== undefined) pick(signals, at).removeEventListener('abort', removed);
        other?.abort(`by ${name}`);
      };
      listeners.push(listener);
      const until = prng.chance(0.3) ? { signal: prng.pick(controllers).signal } : {};
      pick(signals, at).addEventListener('abort', listener, { once: prng.chance(0.5), ...until });
    },
    () => {
      if (listeners.length > 0) prng.pick(signals).removeEventListener('abort', prng.pick(listeners));
    },
    () => {
      if (listeners.length > 0) prng.pick(signals).addEventListener('abort', prng.pick(listeners));
    },
    () => {
      const any = AbortSignal.any([prng.pick(signals), prng.pick(signals)]);
      // Node's signal notices its sources only with the first listener, the standard's signal from the beginning.
      any.addEventListener('abort', () => undefined);
      signals.push(any);
    },
    () => {
      if (prng.chance(0.3)) prng.pick(controllers).abort(prng.chance(0.5) ? 'reason' : undefined);
    },
    () => {
      try {
        prng.pick(signals).throwIfAborted();
      } catch (error) {
        trace.push(`thrown: ${String(error)}`);
      }
    },
  ];
  for (let count = 0; count < ACTS; count++) prng.pick(acts)();
  for (const [at, signal] of signals.entries()) say(`signal ${at}`, signal);
  return trace;
}

function pick<T>(values: readonly T[], at: number): T {
  return values[at] as T;
}
