/** A waker's announcements, and how often a worker polls for them. */
import { describe, expect, test } from 'vitest';
import { glanceEveryMs, isAnnounceable, newsIn, nextAnnouncement } from '../../../../shared/tasks/task/announcement.ts';
import type { Announcement } from '../../../../shared/tasks/task/queue-store.ts';
import { utf8Bytes } from '../../../../shared/core/runtime/bytes.ts';

const NOW = 1_000_000;
const made = (parts: Partial<Announcement> = {}): Announcement => ({
  at: NOW,
  before: NOW - 5_000,
  ids: ['a'],
  workers: 1,
  ...parts,
});

describe('the next announcement', () => {
  test("names the tasks and follows none in a queue's first announcement", () => {
    expect(nextAnnouncement(undefined, ['a', 'b'], { workers: 2, now: NOW })).toEqual({
      at: NOW,
      before: undefined,
      ids: ['a', 'b'],
      workers: 2,
    });
  });

  test('repeats what was announced within a second, and drops what is older', () => {
    const last = made({ ids: ['a', 'b'] });

    expect(nextAnnouncement(last, ['c'], { workers: 1, now: NOW + 999 })?.ids).toEqual(['a', 'b', 'c']);
    expect(nextAnnouncement(last, ['c'], { workers: 1, now: NOW + 1_000 })?.ids).toEqual(['c']);
  });

  test('says nothing where all of it was announced a moment ago', () => {
    expect(nextAnnouncement(made({ ids: ['a', 'b'] }), ['b'], { workers: 1, now: NOW + 10 })).toBeUndefined();
  });

  test('is later than the last, though the clock of its waker is behind', () => {
    const next = nextAnnouncement(made(), ['b'], { workers: 1, now: NOW - 700 });

    expect(next).toMatchObject({ at: NOW + 1, before: NOW });
  });

  test('keeps the newest 20 tasks, and of long ids as many as fit into a write unit', () => {
    const many = Array.from({ length: 20 }, (_, nth) => `old${nth}`);
    const long = ['x'.repeat(500), 'y'.repeat(500)];

    expect(nextAnnouncement(made({ ids: many }), ['new'], { workers: 1, now: NOW })?.ids).toEqual([
      ...many.slice(1),
      'new',
    ]);
    const ids = nextAnnouncement(undefined, long, { workers: 1, now: NOW })?.ids ?? [];
    expect(ids).toEqual(long.slice(1));
    expect(utf8Bytes(ids.join(''))).toBeLessThanOrEqual(600);
  });

  test('is made of 20 tasks at most: of more, the index is the cheaper list', () => {
    expect(isAnnounceable(Array.from({ length: 20 }, String))).toBe(true);
    expect(isAnnounceable(Array.from({ length: 21 }, String))).toBe(false);
  });
});

describe('the news in an announcement', () => {
  test('are the tasks that the last one did not name', () => {
    expect(newsIn(made({ at: NOW + 1, ids: ['a', 'b'] }), made(), NOW + 50)).toEqual(['b']);
    expect(newsIn(made(), undefined, NOW + 50)).toEqual(['a']);
  });

  test.each([
    ['that was heard before', made(), made(), NOW + 50],
    ['that an older read shows', made({ at: NOW - 1, ids: ['z'] }), made(), NOW + 50],
    ['of two seconds ago, which looks have found', made(), undefined, NOW + 2_000],
  ])('are none in one %s', (_, next, last, now) => {
    expect(newsIn(next, last, now)).toEqual([]);
  });
});

describe('between glances', () => {
  test.each([
    ['nothing while none was announced', undefined, undefined],
    ['nothing after a single announcement', made({ before: undefined }), undefined],
    ['nothing after announcements that lie 20 seconds apart', made({ before: NOW - 20_000 }), undefined],
    ['75 ms after two that lie closer', made({ before: NOW - 19_999 }), 75],
    ['longer with more workers, who share the glances', made({ workers: 4 }), 300],
    ['a second at most', made({ workers: 100 }), 1_000],
    ['75 ms where the number of workers is damaged', made({ workers: -3 }), 75],
  ])('%s', (_, last, everyMs) => {
    expect(glanceEveryMs(last, NOW + 100)).toBe(everyMs);
  });

  test('nothing from 20 seconds after the last on', () => {
    expect(glanceEveryMs(made(), NOW + 19_999)).toBe(75);
    expect(glanceEveryMs(made(), NOW + 20_000)).toBeUndefined();
  });
});
