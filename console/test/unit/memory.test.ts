/** The console's memory between two polls. */
import { expect, test } from 'vitest';
import { NOW, STARTED, ago, session } from '../../../test/support/made-rows.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ConsoleConnection, Stores } from '../../server/connection.ts';
import type { PartitionSight } from '../../server/views/flow.ts';
import { RecentFlow, flowBetween } from '../../server/views/flow.ts';
import { KnownNames } from '../../server/views/known-names.ts';
import { SessionBook } from '../../server/views/session-book.ts';

const sight = (ids: string, isMore = false): PartitionSight => ({
  hints: ids.split('').map((id) => ({ queue: 'q', id, readyAt: id.charCodeAt(0) })),
  isMore,
});

test.each([
  ['what came and went', sight('abc'), sight('bcd'), { arrived: 1, left: 1 }],
  ['nothing behind a page that was cut', sight('ab', true), sight('abcd'), { arrived: 0, left: 0 }],
  ['nothing of what a cut page no longer covers', sight('abcd'), sight('ab', true), { arrived: 0, left: 0 }],
  ['what left before the end of a cut page', sight('abcd'), sight('bcd', true), { arrived: 0, left: 1 }],
  ['nothing against a cut page that is empty', sight('ab'), sight('', true), { arrived: 0, left: 0 }],
])('the flow counts %s', (_what, before, after, flow) => {
  expect(flowBetween([before], [after])).toEqual(flow);
});

test('the flow is a rate over the last half minute, and begins again when the clock was set back', () => {
  const flow = new RecentFlow();
  const rates = [
    [0, ''],
    [10_000, 'ab'],
    [30_000, 'b'],
    [40_000, 'bcd'],
    [40_000, 'bcd'],
    [50_000, 'bcde'],
  ].map(([at, ids]) => flow.note(Number(at), [sight(String(ids))]));

  expect(rates.map((rate) => rate && { arrived: rate.arrived.toFixed(3), left: rate.left.toFixed(3) })).toEqual([
    null,
    { arrived: '0.200', left: '0.000' },
    { arrived: '0.067', left: '0.033' },
    { arrived: '0.067', left: '0.033' },
    null,
    { arrived: '0.100', left: '0.000' },
  ]);
});

test('names keep the fields of the last input that had any', () => {
  const names = new KnownNames();
  const note = (name: string, input: unknown, payload?: object): void =>
    names.note([{ queue: 'q', name, input, payload }] as never);
  note('a', { n: 1, m: 2 });
  note('a', [1]);
  note('a', { other: 1 }, {});
  note('b', null);
  names.note([{ queue: 'other', name: 'c', input: { n: 1 }, payload: undefined }] as never);

  expect(names.of('q')).toEqual([
    { name: 'a', fields: ['n', 'm'] },
    { name: 'b', fields: undefined },
  ]);
  for (let n = 0; n < 1_000; n++) note(`n${n}`, null);
  expect(names.of('q').map(({ name }) => name)).not.toContain('a');
});

test('a session that has ended by itself is not lost', async () => {
  const clock = new ManualClock(STARTED);
  const connection = { now: () => clock.now(), options: { maxClockSkewMs: 1_000 } } as unknown as ConsoleConnection;
  const book = new SessionBook(connection);
  const rows = new Map(
    [
      session('ended', { status: 'invalid', reason: 'ended', invalidatedAt: NOW + 1 }),
      session('before', { status: 'invalid', reason: 'destroyed', invalidatedAt: NOW }),
      session('destroyed', { status: 'invalid', reason: 'destroyed', invalidatedAt: NOW + 1 }),
      session('live', {}),
    ].map((one) => [one.id, one]),
  );
  let read: readonly string[] = [];
  const getMany = (ids: readonly string[], onDamaged: (id: string) => void) => {
    read = ids;
    if (ids.includes('damaged')) onDamaged('damaged');
    return Promise.resolve(rows);
  };
  const stores = { sessions: { getMany } } as unknown as Stores;
  const ids = [...rows.keys(), 'damaged', 'gone'];

  await book.refresh(stores, ids, { limit: 3 });
  await book.refresh(stores, ids, { limit: 9 });
  expect(ids.map((id) => book.standing(id))).toEqual(['ended', 'lost', 'lost', 'live', 'damaged', 'ended']);
  expect(book.lost().map((lease) => lease.session)).toEqual(['destroyed', 'before']);
  expect([book.lostSinceOpening, book.lostAfter(NOW), book.lostAfter(ago(1))]).toEqual([1, 1, 2]);
  expect([book.ended(2), book.living()]).toEqual([
    ['ended', 'destroyed'],
    ['live', 'damaged'],
  ]);

  await clock.advance(1_000);
  read = [];
  await book.refresh(stores, ids, { limit: 9 });
  expect(read).toEqual([]);
  await book.refresh(stores, ids, { limit: 9, freshMs: 1_000 });
  expect(read).toEqual(['live']);
  await clock.advance(20_000);
  await book.refresh(stores, ids, { limit: 9 });
  expect(book.lost()).toHaveLength(3);
});
