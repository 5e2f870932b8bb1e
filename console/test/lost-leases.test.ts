/** Lost leases: counts each once, except leases lost before the first poll. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { ConsoleConnection } from '../server/connection.ts';
import { OverviewReader } from '../server/views/overview.ts';
import { SessionBook } from '../server/views/session-book.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import { CONSOLE_SHARDS } from './support/console.ts';
import { stamp } from '../../test/support/tasks.ts';

const endpoint = inject('embeddedEndpoint');
const HOUR_MS = 3_600_000;
const TTL_MS = 10_000;
/** More than are listed. */
const MANY = 60;

describe.skipIf(endpoint === null)('lost leases', () => {
  let table: CommandTable;
  let connection: ConsoleConnection;
  let book: SessionBook;
  let overview: OverviewReader;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  beforeEach(() => {
    const place = { endpoint: table.endpoint, table: table.table, shards: CONSOLE_SHARDS };
    connection = new ConsoleConnection(
      { ...place, maxClockSkewMs: 0, queues: [], isReadOnly: true, by: 'ann@desk' },
      systemRuntime,
    );
    book = new SessionBook(connection);
    overview = new OverviewReader(connection, book);
    return () => {
      connection[Symbol.dispose]();
    };
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  /** Sessions that were begun at a time. */
  async function begun(count: number, now: number): Promise<readonly string[]> {
    const { sessions } = connection.open();
    const facts = { name: 'worker', node: 'host', ttlMs: TTL_MS, lockDelayMs: 0, behaviour: 'release' } as const;
    const ids = Array.from({ length: count }, () => systemRuntime.ids.unique());
    await Promise.all(ids.map((id) => sessions.create({ ...facts, id, ...stamp(), now })));
    return ids;
  }

  async function destroyed(count: number): Promise<readonly string[]> {
    const { sessions } = connection.open();
    const ids = await begun(count, connection.now());
    await Promise.all(ids.map((id) => sessions.invalidate({ id, reason: 'destroyed', ...stamp() })));
    return ids;
  }

  async function meet(ids: readonly string[]): Promise<void> {
    await book.refresh(connection.open(), ids, { limit: ids.length });
  }

  /** As plotted after each round. */
  async function plotted(): Promise<readonly number[]> {
    await overview.read();
    return overview.overview().readings.map(({ lost }) => lost);
  }

  test('plots and counts every lost lease once', async () => {
    const first = await destroyed(MANY);
    await meet(first);
    expect(await plotted()).toEqual([MANY]);

    await meet([...first, ...(await destroyed(3))]);

    expect(await plotted()).toEqual([MANY, 3]);
    expect(await plotted()).toEqual([MANY, 3, 0]);
    expect(overview.overview().lostInHour).toBe(MANY + 3);
  });

  test('lists past losses without plotting them as new', async () => {
    await meet(await begun(4, connection.now() - 3 * HOUR_MS));

    expect(await plotted()).toEqual([0]);
    expect(overview.overview()).toMatchObject({ lostInHour: 0 });
    expect(overview.overview().lost.map(({ reason }) => reason)).toEqual(Array(4).fill('expired'));
  });

  test('counts a session once that another process ends after its expiry was seen', async () => {
    const { sessions } = connection.open();
    const ids = await begun(1, connection.now() - TTL_MS + 300);
    await systemRuntime.clock.sleep(400);
    await meet(ids);
    expect(await plotted()).toEqual([1]);
    for (const id of ids) await sessions.invalidate({ id, reason: 'destroyed', ...stamp() });

    await meet(ids);

    expect(await plotted()).toEqual([1, 0]);
  });
});
