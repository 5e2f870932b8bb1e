import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { createSemaphoreStore } from '../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { taskKey } from '../../shared/dynamo/engine/keys.ts';
import { createStores } from '../../shared/client/stores.ts';
import { stampOf } from '../../shared/core/lease/stamp.ts';
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
import { SOON_TOLD } from '../support/patient.ts';
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

  test('lists released locks only with --all', async () => {
    await using session = await table.leasehold.session();
    await using _held = await session.lock('nightly/held');
    await (await session.lock('nightly/released', { value: 'host-2' })).release();
    const keysOf = async (...options: string[]) =>
      ((await json('locks', 'list', 'nightly/', ...options)) as { readonly key: string }[]).map(({ key }) => key);

    expect(await keysOf()).toEqual(['nightly/held']);
    expect(await keysOf('--all')).toEqual(['nightly/held', 'nightly/released']);
    expect((await run('locks', 'list', 'nightly/released')).out).toBe('no locks are held (see --all)\n');
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

  test('reports how long a key stays closed after its entry was deleted with its session', async () => {
    const session = await table.leasehold.session({ behavior: 'delete', lockDelay: '40s' });
    await session.lock('ephemeral');
    await table.leasehold.sessions.destroy(session.id);

    const shown = await run('locks', 'show', 'ephemeral');

    expect(shown).toMatchObject({ exitCode: 4, out: '' });
    expect(shown.err).toMatch(/no lock ephemeral: .* lock-delay keeps the key closed until \d{4}-/);
  });

  test('takes a lock away only with its token, its name and a reason, and writes that down', async () => {
    await using session = await table.leasehold.session(SOON_TOLD);
    const lock = await session.lock('stuck');
    const token = String(lock.fencingToken);

    const wrongToken = await run('locks', 'release', 'stuck', '--token', '7', ...JUST, '--yes', 'stuck');
    const wrongName = await run('locks', 'release', 'stuck', '--token', token, ...JUST, '--yes', 'stick');
    const unconfirmed = await run('locks', 'release', 'stuck', '--token', token, ...JUST);
    const withoutReason = await run('locks', 'release', 'stuck', '--token', token, '--yes', 'stuck');
    expect([wrongToken, wrongName, unconfirmed, withoutReason].map(({ exitCode }) => exitCode)).toEqual([5, 2, 2, 2]);
    expect(wrongToken.err).toContain(`it is held with token ${token}`);
    expect(lock.signal.aborted).toBe(false);

    const released = await run('locks', 'release', 'stuck', '--token', token, ...JUST, '--yes', 'stuck');
    expect(released).toMatchObject({ exitCode: 0, err: '' });
    await expect.poll(() => lock.signal.aborted).toBe(true);
    expect(await json('audit')).toMatchObject([
      { verb: 'lock.release', target: `stuck ${token}`, by: 'ann', reason: 'a drill', outcome: 'released' },
    ]);
    expect(await run('locks', 'release', 'stuck', '--token', token, ...JUST, '--yes', 'stuck')).toMatchObject({
      exitCode: 5,
    });
  });

  test('lists sessions that live, and ends one', async () => {
    const session = await table.leasehold.session({ name: 'worker/media', node: 'host-2', ...SOON_TOLD });

    expect((await run('sessions', 'list', 'worker/')).out).toMatch(
      new RegExp(`worker/media +${session.id} +host-2 +live`),
    );
    const destroyed = await run('sessions', 'destroy', session.id, ...JUST, '--yes', session.id);
    expect(destroyed).toMatchObject({ exitCode: 0 });
    await expect.poll(() => session.signal.aborted).toBe(true);
    expect(await run('sessions', 'list', 'worker/')).toMatchObject({
      exitCode: 0,
      out: 'no live sessions (see --all)\n',
    });
    expect(await json('sessions', 'show', session.id)).toMatchObject({ status: 'invalid', reason: 'destroyed' });
    expect(await run('sessions', 'destroy', session.id, ...JUST, '--yes', session.id)).toMatchObject({ exitCode: 5 });
  });

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

  test('shows a semaphore, takes a permit away, and changes the limit', async () => {
    const { semaphores } = openSemaphores();
    await using session = await table.leasehold.session({ name: 'uploader', ...SOON_TOLD });
    const acquired = await semaphores.tryAcquire(session.holder, 'uploads', { limit: 3 });
    const permit = acquired.kind === 'acquired' ? acquired.permit : undefined;

    expect((await run('semaphores', 'list')).out).toMatch(/uploads +1 +3 +1 +0 +0/);
    expect((await run('semaphores', 'show', 'uploads')).out).toContain('uploader on');
    expect(await run('semaphores', 'evict', 'uploads', '--token', '7', ...JUST, '--yes', 'uploads')).toMatchObject({
      exitCode: 5,
    });
    const token = String(permit?.fencingToken);
    expect(await run('semaphores', 'evict', 'uploads', '--token', token, ...JUST, '--yes', 'uploads')).toMatchObject({
      exitCode: 0,
    });
    expect(await json('semaphores', 'limit', 'uploads', '1', ...JUST, '--yes', 'uploads')).toMatchObject({
      limit: 1,
      declared: 3,
      lastEviction: { by: 'ann', reason: 'a drill' },
    });
    expect(await run('semaphores', 'limit', 'uploads', 'none', ...JUST, '--yes', 'uploads')).toMatchObject({
      exitCode: 2,
    });
  });

  test('says who leads', async () => {
    await using session = await table.leasehold.session({ name: 'scheduler', node: 'host-3' });
    await session.campaign('boss', { value: 'http://host-3' });

    expect((await run('locks', 'list', 'election/')).out).toMatch(/election\/boss +held +scheduler on host-3 /);
    expect((await run('locks', 'show', 'election/boss')).out).toMatch(/^value +http:\/\/host-3$/m);
    expect(await run('locks', 'show', 'election/nobody')).toMatchObject({ exitCode: 4 });
  });

  test('shows what could steer a terminal as text', async () => {
    await using session = await table.leasehold.session({ name: 'x\u001b[2Jy\u202e' });
    await session.lock('evil\u001b]0;title\u0007', { value: '\u001b[31m' });

    const listed = await run('locks', 'list', 'evil');
    const shown = await run('locks', 'show', 'evil\u001b]0;title\u0007');

    expect(listed.out + shown.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/);
    expect(listed.out).toContain('evil\\u001b]0;title\\u0007');
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

  test.each(['tasks', 'locks', 'queues', 'schedules', 'sessions', 'semaphores'])(
    'lists %s when no verb is given',
    async (noun) => {
      const [alone, listed] = [await run(noun), await run(noun, 'list')];

      // Below the titles stand ages.
      const titles = ({ exitCode, out }: typeof alone) => ({ exitCode, titles: out.split('\n')[0]?.split(/ +/) });
      expect(titles(alone)).toEqual(titles(listed));
      expect(alone.exitCode).toBe(0);
    },
  );

  test.each([
    ['an unknown command', 2, ['lock', 'list'], /^error: unknown command 'lock'\n\(Did you mean locks\?\)/],
    ['a verb that is none', 2, ['tasks', 'shwo', 'x'], /^error: unknown command 'shwo': tasks has list, .*mean show\?/],
    ['an unknown option', 2, ['locks', 'list', '--colour'], /^error: unknown option '--colour'/],
    ['a number that is none', 2, ['locks', 'list', '--limit', 'many'], /must be a whole number of 1 or more/],
    ['a lock that is not there', 4, ['locks', 'show', 'nope'], /^error: there is no lock nope/],
    ['a session that is not there', 4, ['sessions', 'show', 'nope'], /^error: there is no session nope/],
    ['a semaphore that is not there', 4, ['semaphores', 'show', 'nope'], /^error: there is no semaphore nope/],
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
