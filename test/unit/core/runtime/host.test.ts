/** Warnings of the host: with all known facts, and once for each hook. */
import { afterEach, expect, test, vi } from 'vitest';
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
