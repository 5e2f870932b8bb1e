import { beforeEach, describe, expect, test } from 'vitest';
import { enqueueDueOccurrences } from '../../../shared/tasks/dispatch/recur.ts';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { scheduleKey, taskKey } from '../../../shared/dynamo/engine/keys.ts';
import { createScheduleStore } from '../../../shared/tasks/rows/dynamo-schedule-store.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { Runtime } from '../../../shared/core/runtime/runtime.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import type { ScheduleStore } from '../../../shared/tasks/schedule/schedule.ts';
import { loseNextAnswer } from '../../support/lost-answer.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { PATIENT } from '../../support/patient.ts';

const BEGINNING = '2026-03-28T12:00:00.000Z';
const HOUR = 3_600_000;

describeOnStore('recurring tasks', (open) => {
  let q: QueueUnderTest;
  let clock: ManualClock;
  let schedules: ScheduleStore;
  let client: ScheduleClient;

  beforeEach(() => {
    q = openQueue(open());
    clock = new ManualClock(BEGINNING);
    // The senders keep real time: only the schedules live in the past.
    const runtime: Runtime = { ...systemRuntime, clock };
    schedules = createScheduleStore(open().openSender().sender, { table: open().table, shards: 2 });
    client = new ScheduleClient({ schedules, runtime }, { queue: q.queue });
  });

  const tick = () =>
    enqueueDueOccurrences(q.queue, { schedules, runtime: { ...systemRuntime, clock } }, (error) => {
      throw error;
    });
  const occurrence = (name: string, at: string) => q.tasks.get({ queue: q.queue, id: `${name}@${at}` });

  test('turns each occurrence into one task that is due at the occurrence and named after it', async () => {
    await client.define('hourly', 'report', { kind: 'sales' }, { cron: '0 * * * *' });
    expect(await tick()).toBe(0);

    clock.step(HOUR);

    expect(await tick()).toBe(1);
    expect(await occurrence('hourly', '2026-03-28T13:00:00.000Z')).toMatchObject({
      name: 'report',
      input: { kind: 'sales' },
      state: 'ready',
      readyAt: Date.parse('2026-03-28T13:00:00.000Z'),
    });
    expect(await tick()).toBe(0);
  });

  test('creates one task per occurrence for any number of concurrent dispatchers', async () => {
    await client.define('hourly', 'report', {}, { cron: '0 * * * *' });
    clock.step(HOUR);

    const made = await Promise.all(Array.from({ length: 6 }, tick));

    expect(made.reduce((sum, tasks) => sum + tasks, 0)).toBe(1);
  });

  test("creates no task twice when a dispatcher crashes after creating an occurrence's task", async () => {
    await client.define('hourly', 'report', {}, { cron: '0 * * * *' });
    clock.step(HOUR);
    const killed = new StoreUnavailableError('killed', { applied: 'unknown' });
    const dying: ScheduleStore = {
      ...schedules,
      makeOccurrence: async (...occurrence) => {
        await schedules.makeOccurrence(...occurrence);
        throw killed;
      },
    };
    await expect(
      enqueueDueOccurrences(q.queue, { schedules: dying, runtime: { ...systemRuntime, clock } }, () => {}),
    ).rejects.toBe(killed);

    expect(await tick()).toBe(0);
    clock.step(HOUR);
    expect(await tick()).toBe(1);
  });

  describe('occurrences that were missed', () => {
    const outage = async (missed: 'skip' | 'last' | 'all', lateMs = 20 * 60_000) => {
      await client.define('hourly', 'report', {}, { cron: '0 * * * *', missed, tolerance: '10m' });
      clock.step(3 * HOUR + lateMs);
      return tick();
    };

    test('all become tasks, oldest first, with the policy all', async () => {
      expect(await outage('all')).toBe(3);
      expect(await occurrence('hourly', '2026-03-28T13:00:00.000Z')).toBeDefined();
    });

    test('become one task with the policy last', async () => {
      expect(await outage('last')).toBe(1);
      expect(await occurrence('hourly', '2026-03-28T15:00:00.000Z')).toBeDefined();
    });

    test('are left out with the policy skip, unless the latest is within the tolerance', async () => {
      expect(await outage('skip')).toBe(0);
      clock.step(40 * 60_000 + 5_000);
      expect(await tick()).toBe(1);
      expect(await occurrence('hourly', '2026-03-28T16:00:00.000Z')).toBeDefined();
    });

    test('become tasks over several ticks when there are many', async () => {
      await client.define('often', 'report', {}, { cron: '* * * * *', missed: 'all' });
      clock.step(150 * 60_000);

      expect([await tick(), await tick(), await tick()]).toEqual([100, 50, 0]);
    });
  });

  test("uses the zone's local time across the change to summer time", async () => {
    await client.define('morning', 'report', {}, { cron: '30 8 * * *', zone: 'Europe/Berlin', missed: 'all' });

    clock.step(48 * HOUR);
    await tick();

    // The night of 29 March 2026 is an hour short.
    expect(await occurrence('morning', '2026-03-29T06:30:00.000Z')).toBeDefined();
    expect(await occurrence('morning', '2026-03-30T06:30:00.000Z')).toBeDefined();
  });

  test.each(['all', 'last', 'skip'] as const)(
    'writes down the night that a zone leaves out, once (%s)',
    async (missed) => {
      await client.define('nightly', 'report', {}, { cron: '30 2 * * *', zone: 'Europe/Berlin', missed });
      clock.step(36 * HOUR + 31 * 60_000);
      expect(await tick()).toBe(1);
      clock.step(24 * HOUR);
      expect(await tick()).toBe(1);

      expect((await client.get('nightly'))?.leftOut).toEqual([{ at: Date.parse('2026-03-29T01:30:00Z'), why: 'zone' }]);
      expect((await occurrence('nightly', '2026-03-30T00:30:00.000Z'))?.schedule?.since).toBeUndefined();
    },
  );

  test('defining it again as it is keeps the occurrences that are owed; defining it otherwise starts over', async () => {
    await client.define('hourly', 'report', { n: 1 }, { cron: '0 * * * *', missed: 'all' });
    clock.step(2 * HOUR);

    await client.define('hourly', 'report', { n: 1 }, { cron: '0 * * * *', missed: 'all' });
    expect(await tick()).toBe(2);

    clock.step(2 * HOUR);
    await client.define('hourly', 'report', { n: 2 }, { cron: '0 * * * *', missed: 'all' });
    expect(await tick()).toBe(0);
  });

  test('ends with its removal, and the listing shows the others', async () => {
    await client.define('a', 'report', {}, { cron: '0 * * * *' });
    await client.define('b', 'report', {}, { cron: '0 0 1 1 *', zone: 'Asia/Tokyo' });

    expect(await client.remove('a')).toBe(true);
    expect(await client.remove('a')).toBe(false);

    const names: string[] = [];
    for await (const { name } of client.list()) names.push(name);
    expect(names).toEqual(['b']);
    clock.step(HOUR);
    expect(await tick()).toBe(0);
  });

  describe('a removed schedule', () => {
    const options = { cron: '0 * * * *', missed: 'all' } as const;
    const define = (by = client) => by.define('hourly', 'report', {}, options);
    const removal = (by = client) => by.remove('hourly');
    /** Another process's client, over a separate driver. */
    const another = (driver: DynamoDriver) => {
      const runtime: Runtime = { ...systemRuntime, clock };
      const store = createScheduleStore(new Sender({ driver, runtime: systemRuntime, policy: PATIENT }), {
        table: open().table,
        shards: 2,
      });
      return new ScheduleClient({ schedules: store, runtime }, { queue: q.queue });
    };
    /** A driver that keeps what is written through it, to write it once more. */
    const recording = () => {
      const { driver } = open();
      const sent: (() => Promise<unknown>)[] = [];
      const attempt: DynamoDriver['attempt'] = (kind, input, signal) => {
        if (kind === 'update' || kind === 'transactWrite')
          sent.push(() => driver.attempt(kind, input, new AbortController().signal));
        return driver.attempt(kind, input, signal);
      };
      return { driver: { attempt }, sent };
    };

    test('is not brought back by a definition that arrives late', async () => {
      const { driver, sent } = recording();
      await define(another(driver));
      await removal();

      await expect(sent[0]?.()).rejects.toMatchObject({ kind: 'conditionFailed' });
      clock.step(HOUR);
      expect(await tick()).toBe(0);
      expect(await Array.fromAsync(client.list())).toEqual([]);
    });

    test('is not brought back by an update of its earlier state', async () => {
      const { driver, sent } = recording();
      await define();
      const { attempt } = driver;
      driver.attempt = async (kind, input, signal) => {
        if (kind !== 'update') return attempt(kind, input, signal);
        sent.push(() => attempt(kind, input, new AbortController().signal));
        throw new DynamoFault('rejected', { code: 'any', message: 'still under way' });
      };
      await expect(another(driver).define('hourly', 'report', { n: 2 }, options)).rejects.toThrow('still under way');
      await removal();

      await expect(sent[0]?.()).rejects.toMatchObject({ kind: 'conditionFailed' });
      expect(await Array.fromAsync(client.list())).toEqual([]);
    });

    test('is defined again, and neither a late removal nor a late step touches it', async () => {
      const { driver, sent } = recording();
      await define();
      clock.step(HOUR);
      const late = createScheduleStore(new Sender({ driver, runtime: systemRuntime, policy: PATIENT }), {
        table: open().table,
        shards: 2,
      });
      await enqueueDueOccurrences(q.queue, { schedules: late, runtime: { ...systemRuntime, clock } }, () => {});
      await removal(another(driver));
      const defined = await define();

      expect(sent).toHaveLength(2);
      const [step, removing] = sent;
      // The service answers a transaction that it has applied already, and applies it no second time.
      await step?.().catch(() => {});
      await expect(removing?.()).rejects.toMatchObject({ kind: 'conditionFailed' });
      expect(await schedules.get(defined)).toEqual(defined);
      clock.step(HOUR);
      expect(await tick()).toBe(1);
    });

    test('is active if it was paused before, and is defined as new', async () => {
      await define();
      await client.pause('hourly');
      await client.remove('hourly');
      expect((await define()).pausedAt).toBeUndefined();
    });

    test('is swept, unless it was defined again', async () => {
      const key = { ...scheduleKey(q.queue, 'hourly') };
      const row = async () =>
        (await open().driver.attempt('get', { TableName: open().table, Key: key }, new AbortController().signal)).Item;
      await define();
      expect(await row()).not.toHaveProperty('ttl');

      await removal();
      expect(await row()).toMatchObject({ status: 'removed' });
      expect(Number((await row())?.ttl)).toBeGreaterThan((clock.now() + HOUR) / 1_000);
      expect(await row()).not.toHaveProperty('readyKey');
      expect(await row()).not.toHaveProperty('directoryKey');

      await define();
      expect(await row()).not.toHaveProperty('ttl');
      expect(await row()).not.toHaveProperty('status');
    });

    test('is recognized as removed after a lost response, and not assumed removed after others have defined it again', async () => {
      const driver: DynamoDriver = { attempt: open().driver.attempt.bind(open().driver) };
      const other = another(driver);
      await define();
      loseNextAnswer(driver, () => Promise.resolve());
      expect(await removal(other)).toBe(true);

      await define();
      loseNextAnswer(driver, () => define());
      await expect(removal(other)).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
      expect(await removal()).toBe(true);
    });
  });

  describe('a schedule cannot be carried out', () => {
    const damage = async (key: { readonly pk: string; readonly sk: string }, name: string, value: unknown) => {
      await open().driver.attempt(
        'update',
        {
          TableName: open().table,
          Key: { ...key },
          UpdateExpression: 'SET #name = :value',
          ExpressionAttributeNames: { '#name': name },
          ExpressionAttributeValues: { ':value': value },
        },
        new AbortController().signal,
      );
    };
    const tickPastDamage = async () => {
      const reported: unknown[] = [];
      const made = await enqueueDueOccurrences(
        q.queue,
        { schedules, runtime: { ...systemRuntime, clock } },
        (error) => void reported.push(error),
      );
      return { made, reported: reported.map(String) };
    };

    test.each([
      ['zone', 'Mars/Olympus'],
      ['cron', 'now and then'],
    ])(
      'whose %s this machine does not know, the others become tasks, and it is reported and kept',
      async (attribute, value) => {
        for (const name of ['odd', 'sound']) await client.define(name, 'report', {}, { cron: '0 * * * *' });
        await damage(scheduleKey(q.queue, 'odd'), attribute, value);
        clock.step(HOUR);

        expect(await tickPastDamage()).toEqual({
          made: 1,
          reported: [
            expect.stringMatching(new RegExp(`^CorruptItemError: row schedule "odd" of .*${value}`)) as string,
          ],
        });
        expect(await occurrence('sound', '2026-03-28T13:00:00.000Z')).toMatchObject({ state: 'ready' });

        await damage(scheduleKey(q.queue, 'odd'), attribute, attribute === 'zone' ? 'UTC' : '0 * * * *');
        expect(await tickPastDamage()).toEqual({ made: 1, reported: [] });
        expect(await occurrence('odd', '2026-03-28T13:00:00.000Z')).toMatchObject({ state: 'ready' });
      },
    );

    /** Writes a copy of the schedule "sound" under another key, as a program with only the right to write schedules could. */
    const copySound = async (key: { readonly pk: string; readonly sk: string }, name: string) => {
      const { driver, table: TableName } = open();
      const { signal } = new AbortController();
      const { Item } = await driver.attempt('get', { TableName, Key: { ...scheduleKey(q.queue, 'sound') } }, signal);
      const { directoryKey: _, directoryName: __, ...row } = Item ?? {};
      await driver.attempt('put', { TableName, Item: { ...row, ...key, name } }, signal);
    };

    test("reports a name that is too long for its task's key, and enqueues the others", async () => {
      await client.define('sound', 'report', {}, { cron: '0 * * * *' });
      const { pk } = scheduleKey(q.queue, '');
      const long = 'n'.repeat(2_048 - pk.length);
      await copySound(scheduleKey(q.queue, long), long);
      clock.step(HOUR);

      expect(await tickPastDamage()).toEqual({ made: 1, reported: [expect.stringContaining('nnn') as string] });
      expect(await occurrence('sound', '2026-03-28T13:00:00.000Z')).toMatchObject({ state: 'ready' });
    });

    test('reports a schedule of another queue without reading it, and enqueues the others', async () => {
      await client.define('sound', 'report', {}, { cron: '0 * * * *' });
      await copySound(scheduleKey(`other-${q.queue}`, 'foreign'), 'foreign');
      clock.step(HOUR);

      expect(await tickPastDamage()).toEqual({
        made: 1,
        reported: [expect.stringContaining('its index key says that it is a schedule of queue') as string],
      });
      expect(await occurrence('foreign', '2026-03-28T13:00:00.000Z')).toBeUndefined();
    });

    test('ends the tick when the store does not respond, and retries it', async () => {
      await client.define('sound', 'report', {}, { cron: '0 * * * *' });
      clock.step(HOUR);
      const unavailable = new StoreUnavailableError('throttled', { applied: 'no' });
      const ports = {
        schedules: { ...schedules, makeOccurrence: () => Promise.reject(unavailable) },
        runtime: { ...systemRuntime, clock },
      };

      await expect(enqueueDueOccurrences(q.queue, ports, () => {})).rejects.toBe(unavailable);
    });

    test('reports an occurrence whose task is damaged, and advances its schedule', async () => {
      await client.define('hourly', 'report', {}, { cron: '0 * * * *' });
      const early = await schedules.get({ queue: q.queue, name: 'hourly' });
      clock.step(HOUR);
      await tick();
      await damage(taskKey(q.queue, 'hourly@2026-03-28T13:00:00.000Z'), 'state', 'odd');
      await damage(
        scheduleKey(q.queue, 'hourly'),
        'readyAt',
        early !== undefined && 'nextAt' in early ? early.nextAt : undefined,
      );

      const { made, reported } = await tickPastDamage();

      expect(made).toBe(0);
      expect(reported).toEqual([expect.stringContaining('hourly@2026-03-28T13:00:00.000Z') as string]);
      clock.step(HOUR);
      expect(await tickPastDamage()).toEqual({ made: 1, reported: [] });
    });
  });
});
