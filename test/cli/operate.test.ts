import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { createSemaphoreStore } from '../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { taskKey } from '../../shared/dynamo/engine/keys.ts';
import { createStores } from '../../shared/client/stores.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import type { ReadyTask } from '../../shared/tasks/task/task.ts';
import { DEFAULT_SHARDS } from '../../shared/tasks/task/task.ts';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { openHolder } from '../support/open-holder.ts';

const endpoint = inject('embeddedEndpoint');
const JUST = ['--reason', 'a drill', '--by', 'ann'];

describe.skipIf(endpoint === null)('leasehold, looking and acting', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  const run = (...argv: string[]) => runCommand(table, ...argv);
  const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await run(...argv, '--json')).out);

  const openSemaphores = () => {
    const { sender } = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    const sessions = createSessionStore(sender, table.table);
    const ports = { sessions, semaphores: createSemaphoreStore(sender, table.table) };
    const when = { runtime: systemRuntime, gauge: noSkewGauge };
    return { sessions, semaphores: new SemaphoreClient({ ...ports, ...when }, { maxClockSkewMs: 1_000 }) };
  };

  test('lists locks with their holders, and shows one', async () => {
    await using session = await table.leasehold.session({ name: 'nightly job', node: 'host-1' });
    const lock = await session.lock('reports/nightly', { value: 'half done' });

    const listed = await run('locks', 'list', 'reports/');
    expect(listed.out).toMatch(
      /^KEY +STATE +HOLDER +SINCE +TOKEN\nreports\/nightly +held +nightly job on host-1 .* ago +\d+\n$/,
    );
    expect(await json('locks', 'show', 'reports/nightly')).toMatchObject({
      key: 'reports/nightly',
      value: 'half done',
      leaseCounter: lock.fencingToken,
      holder: { name: 'nightly job', node: 'host-1', session: session.id },
    });
  });

  test.each([
    ['40s', 1, '1 +3 +1 +0 +0'],
    ['0s', 0, '0 +3 +0 +1 +0'],
  ] as const)(
    'lists what was left by a session that was ended with a lock-delay of %s',
    async (lockDelay, closed, permit) => {
      const session = await table.leasehold.session();
      await session.lock(`left/${lockDelay}`);
      await session.permit(`left/${lockDelay}`, { limit: 3 });
      await table.leasehold.sessions.destroy(session.id, { lockDelay });

      const locks = await json('locks', 'list', `left/${lockDelay}`);
      const semaphores = await run('semaphores', 'list', `left/${lockDelay}`);

      expect(locks).toHaveLength(closed);
      expect(semaphores.out).toMatch(new RegExp(`\nleft/${lockDelay} +${permit}\n`));
    },
  );

  test('lists a session once that only the permits of its queue list, and one that the directory lists too', async () => {
    const { sessions, semaphores } = openSemaphores();
    const name = workerName('deployed');
    const deployed = await openHolder(
      { timing: sessionTiming({}), name, node: 'lambda', listed: false },
      { store: sessions, runtime: systemRuntime },
    );
    await using listed = await table.leasehold.session({ name });
    for (const holder of [deployed, listed.holder])
      await semaphores.tryAcquire(holder, workersSemaphore('deployed'), { limit: 2 });

    const shown = (await json('sessions', 'list', 'worker/dep')) as readonly { readonly id: string }[];
    expect(shown.map(({ id }) => id).toSorted()).toEqual([deployed.id, listed.id].toSorted());
    await deployed.end();
    expect((await run('sessions', 'list', 'worker/dep')).out).not.toContain(deployed.id);
  });

  test('says who leads', async () => {
    await using session = await table.leasehold.session({ name: 'scheduler', node: 'host-3' });
    await session.campaign('boss', { value: 'http://host-3' });

    expect((await run('locks', 'list', 'election/')).out).toMatch(/election\/boss +held +scheduler on host-3 /);
    expect((await run('locks', 'show', 'election/boss')).out).toMatch(/^value +http:\/\/host-3$/m);
    expect(await run('locks', 'show', 'election/nobody')).toMatchObject({ exitCode: 4 });
  });

  test('shows a row that it cannot read as text, where it happened included', async () => {
    const id = 'x\u001b[2J';
    const { pk, sk } = taskKey('default', id);
    await table.client.send(
      new PutItemCommand({ TableName: table.table, Item: { pk: { S: pk }, sk: { S: sk }, state: { S: 'odd' } } }),
    );

    const shown = await run('tasks', 'show', id);

    expect(shown).toMatchObject({ exitCode: 1, out: '' });
    expect(shown.err).toMatch(/^ {4}at /m);
    expect(shown.err).toContain('x\\u001b[2J');
    expect(shown.err).not.toContain('\u001b[2J');
  });

  test.each([
    ['an unknown command', 2, ['lock', 'list'], /^error: unknown command 'lock'\n\(Did you mean locks\?\)/],
    ['a verb that is none', 2, ['tasks', 'shwo', 'x'], /^error: unknown command 'shwo': tasks has list, .*mean show\?/],
    ['an unknown option', 2, ['locks', 'list', '--colour'], /^error: unknown option '--colour'/],
    ['a number that is none', 2, ['locks', 'list', '--limit', 'many'], /must be a whole number of 1 or more/],
  ])('names %s', async (_what, exitCode, argv, message) => {
    const end = await run(...argv);

    expect(end).toMatchObject({ exitCode, out: '' });
    expect(end.err).toMatch(message);
  });

  test('gives programs one JSON value, errors included', async () => {
    const end = await run('locks', 'show', 'nope', '--json');

    expect(end.out).toBe('');
    expect(JSON.parse(end.err)).toEqual({
      error: expect.stringContaining('there is no lock nope') as string,
      exitCode: 4,
    });
  });

  test('judges the session of a running task by the bound on clocks that is given', async () => {
    const connection = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    const { sessions, tasks } = createStores(connection.sender, { table: table.table, shards: DEFAULT_SHARDS });
    const begun = { ...stampOf(systemRuntime), now: systemRuntime.clock.now() - 40_000 };
    const settings = { name: 'worker', node: 'here', lockDelayMs: 0, behaviour: 'release' } as const;
    await sessions.create({ ...settings, ...begun, id: 'late', ttlMs: 10_000 });
    await table.leasehold.tasks.enqueue('fine', null, { id: 'held', queue: 'skewed' });
    const task = (await tasks.get({ queue: 'skewed', id: 'held' })) as ReadyTask;
    await tasks.claim(task, 'late', stampOf(systemRuntime));
    connection.close();
    const cancel = ['tasks', 'cancel', 'held', '--queue', 'skewed', '--yes', 'held', ...JUST];

    const doubted = await run(...cancel, '--max-clock-skew', '10m');
    const expired = await run(...cancel);

    expect(doubted.out).toBe('held is running: session late learns of it at its next heartbeat\n');
    expect(expired.out).toBe('cancelled held\n');
  });
});
