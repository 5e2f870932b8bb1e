/** Facilities of the host: warnings with all known facts, once for each hook, and texts that inflate to a limit at most. */
import { afterEach, expect, test, vi } from 'vitest';
import { deflated, inflatedByStream, inflatedText } from '../../../../shared/core/runtime/deflate.ts';
import { warn } from '../../../../shared/core/runtime/host.ts';
import { notifyObserver } from '../../../../shared/core/runtime/notify-observer.ts';

const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
afterEach(() => {
  warned.mockClear();
});

test('a warning has our type, and its detail if there is one', () => {
  warn('first', 'why');
  warn('second');

  expect(warned.mock.calls).toEqual([
    ['first', { type: 'LeaseholdWarning', detail: 'why' }],
    ['second', { type: 'LeaseholdWarning' }],
  ]);
});

test('a hook that throws is warned of once, with its error, and each hook for itself', () => {
  const [one, other] = ['one', 'other'].map((name) => ({
    hook: (): never => {
      throw new TypeError(`${name} is closed`);
    },
  }));
  for (const watcher of [one, one, other, one]) notifyObserver(watcher!, ({ hook }) => hook());

  expect(warned.mock.calls).toEqual([
    [
      'a hook threw, and was ignored',
      { type: 'LeaseholdWarning', detail: expect.stringContaining('one is closed') as string },
    ],
    [
      'a hook threw, and was ignored',
      { type: 'LeaseholdWarning', detail: expect.stringContaining('other is closed') as string },
    ],
  ]);
});

test.each([
  ['', 10],
  ['0123456789', 10],
  ['ä'.repeat(5), 10],
  ['x'.repeat(100_000), 100_000],
])('%# inflates to its limit in bytes, and not beyond', async (text, bytes) => {
  const small = deflated(text)!;

  expect(inflatedText(small, bytes)).toBe(text);
  expect(await inflatedByStream(small, bytes)).toBe(text);
  const over = deflated(`${text}${'y'.repeat(bytes - new TextEncoder().encode(text).length + 1)}`)!;
  expect(inflatedText(over, bytes)).toBeUndefined();
  expect(await inflatedByStream(over, bytes)).toBeUndefined();
});

test('bytes that are not deflated have no text', async () => {
  const noise = new Uint8Array([255, 255, 255]);

  expect(inflatedText(noise, 10)).toBeUndefined();
  expect(await inflatedByStream(noise, 10)).toBeUndefined();
});
