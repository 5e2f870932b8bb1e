/** The walk past groups: names and shards of groups, and skipped ones. */
import { describe, expect, test } from 'vitest';
import { groupPlace, parseGroupPlace } from '../../../../shared/tasks/rows/task/index-places.ts';
import { placeInGroup } from '../../../../shared/tasks/rows/task/place.ts';
import type { LinePlace } from '../../../../shared/tasks/task/line.ts';
import type { KeyLimit } from '../../../../shared/tasks/task/key-limit.ts';
import type { GroupEntry, GroupHint, TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import type { Visit, WalkQuery } from '../../../../shared/tasks/task/group-walk.ts';
import { GroupWalk, QUANTUM } from '../../../../shared/tasks/task/group-walk.ts';

const PARTITION = { queue: 'q', priority: 'normal', shard: 0 } as const;
const NOW = 1_000;
const ONE: KeyLimit = { key: 'stuck', limit: 1, rate: undefined };

interface Member {
  readonly tenant?: string;
  readonly limit?: KeyLimit;
  readonly line?: LinePlace;
  readonly readyAt?: number;
}

/** Tasks of one group, due a millisecond after one another. */
const several = (count: number, member: Member = {}): readonly Member[] =>
  Array.from({ length: count }, (_, readyAt) => ({ readyAt, ...member }));

/** A partition of these tasks, whose ids are their numbers. */
function open(members: readonly Member[]) {
  const entries = members
    .map(({ tenant, limit, line, readyAt = 0 }, n): GroupEntry => {
      const place = groupPlace({ tenant, limit, line }, readyAt, String(n));
      const { end, tenantEnd } = parseGroupPlace(place);
      return { hint: { queue: 'q', id: String(n), readyAt, tenant, limit, line }, place, end, tenantEnd };
    })
    .sort((one, other) => (one.place < other.place ? -1 : 1));
  let pages = 0;
  const tasks: Pick<TaskStore, 'pageOfGroups'> = {
    pageOfGroups: (_partition, { after, limit }) => {
      pages++;
      const behind = entries.filter(({ place }) => place > after);
      const page = behind.slice(0, limit);
      return Promise.resolve({ entries: page, next: behind.length > limit ? page.at(-1)?.place : undefined });
    },
  };
  const walk = new GroupWalk(PARTITION, tasks);
  const next = async (query: Partial<WalkQuery> = {}) =>
    (await walk.next({ now: NOW, wanted: 50, ...query })).hints.map(({ id }) => Number(id));
  return { next, pages: () => pages };
}

const isStuck = ({ limit }: GroupHint) => limit?.key === ONE.key;

describe('the place of a task among others of its key', () => {
  test.each<Member>([
    { tenant: 'acme' },
    { limit: ONE },
    { tenant: 'acme', limit: { key: 'k', limit: 5, rate: { count: 100, perMs: 60_000 } } },
    { line: { key: 'k', ticket: 12 } },
    { tenant: 'acme', line: { key: 'k', ticket: 12 } },
  ])('shows tenant, limit, line and time of %o', ({ tenant, limit, line }) => {
    expect(parseGroupPlace(groupPlace({ tenant, limit, line }, 7, 'id'))).toMatchObject({
      tenant,
      limit,
      line,
      readyAt: 7,
    });
  });

  test('is before the end of its group; the end is before other limits, and not before the rest of the group', () => {
    const place = groupPlace({ tenant: 'acme', limit: ONE }, 7, 'a');
    const { end, tenantEnd } = parseGroupPlace(place);

    expect(place < end).toBe(true);
    expect(groupPlace({ tenant: 'acme', limit: ONE }, 8, 'b') < end).toBe(true);
    expect(end < tenantEnd).toBe(true);
    expect(parseGroupPlace(groupPlace({ tenant: 'acme', limit: { ...ONE, limit: 2 } }, 7, 'a')).end).not.toBe(end);
  });

  test.each([
    [1, 1],
    [3, 3],
    [100, 16],
  ])('is in as many shards as a limit of %d allows: %d of 16', (limit, wide) => {
    const partitions = Array.from({ length: 300 }, (_, n) => {
      const task = { queue: 'q', id: `t${n}`, priority: 'normal', limit: { ...ONE, limit }, line: undefined } as const;
      return placeInGroup(task, { readyAt: 0, shards: 16 }).partition;
    });

    expect(new Set(partitions).size).toBe(wide);
  });
});

describe('a walk past groups', () => {
  test('takes the tasks of a key in their order, and a share of each tenant', async () => {
    const { next } = open([...several(6, { limit: ONE }), ...several(9, { tenant: 'acme' })]);

    const found = await next();

    expect(found.filter((id) => id < 6)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(found.filter((id) => id >= 6)).toHaveLength(QUANTUM);
  });

  test('reads of a full key what a look passes, from where it ended', async () => {
    const { next } = open(several(9, { limit: ONE }));
    const look: Visit = { isLook: true, left: 3 };

    expect(await next({ visit: () => look })).toEqual([0, 1, 2]);
    look.left = 2;
    expect(await next({ visit: () => look })).toEqual([3, 4]);
  });

  test('leaves out tasks that are not admitted, and continues with others', async () => {
    const { next } = open([...several(60, { limit: ONE }), ...several(60, { limit: { ...ONE, key: 'free' } })]);
    const admit = (hints: readonly GroupHint[]) => Promise.resolve(hints.filter((one) => !isStuck(one)));

    const found = await next({ admit, wanted: 10 });

    expect(found.length).toBeGreaterThanOrEqual(10);
    expect(found.every((id) => id >= 60)).toBe(true);
  });
});

describe('a walk past lines', () => {
  /** Tickets from 1, as the ids from 0. */
  const inLine = (count: number, key = 'k'): readonly Member[] =>
    Array.from({ length: count }, (_, n) => ({ line: { key, ticket: n + 1 }, readyAt: count - n }));

  test('takes the first task of a line, and skips the others in one query', async () => {
    const { next, pages } = open([...inLine(500), ...inLine(2, 'other')]);

    expect((await next()).sort()).toEqual([0, 500]);
    expect(pages()).toBeLessThanOrEqual(4);
  });

  test('skips a line whose turn is known to be before its first task', async () => {
    const { next } = open([...inLine(9).slice(1), ...inLine(1, 'other')]);

    expect(await next({ visit: ([first]) => ({ left: first?.hint.line?.key === 'k' ? 0 : 1 }) })).toEqual([8]);
  });

  test('skips a line whose first task is not due, whatever is due behind it', async () => {
    const [first, ...rest] = inLine(9);
    const { next } = open([{ ...first, readyAt: NOW + 1 }, ...rest, ...inLine(1, 'other')]);

    expect(await next()).toEqual([9]);
  });

  test('a line whose first task is not admitted takes nothing of its tenant', async () => {
    const lines = Array.from({ length: 2 * QUANTUM }, (_, n) => inLine(2, `k${n}`)).flat();
    const { next } = open(lines.map((member) => ({ ...member, tenant: 'acme' })));
    let lookedAt = 0;
    const admit = (hints: readonly GroupHint[]) => Promise.resolve(hints.filter(() => ++lookedAt > QUANTUM));

    expect(await next({ admit })).toHaveLength(QUANTUM);
  });
});
