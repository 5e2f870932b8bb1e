/** Adding a task, its family, and what each act is called on a command line. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Act, ConnectionInfo } from '../model.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import { durableTask } from '../../api/durable.ts';
import { createWorker } from '../../shared/client/create-worker.ts';
import { childrenBatch } from '../../shared/tasks/task/batch.ts';
import { browsedConsole, canBrowse, openOn } from './support/console-page.ts';
import { CONSOLE_SHARDS } from './support/console.ts';
import { runCommand } from '../../test/support/command.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import { SOON_TOLD } from '../../test/support/patient.ts';
import { claimOf, claimed, enqueued, newTask, numbered, stamp } from '../../test/support/tasks.ts';

const endpoint = inject('embeddedEndpoint');
const reason = "it's a drill";

interface CommandModule {
  readonly commandOf: (act: Act, desk: Partial<ConnectionInfo> | undefined) => string;
}

describe.skipIf(endpoint === null)('an act as a command', () => {
  let table: CommandTable;
  let tasks: TaskStore;
  let commandOf: CommandModule['commandOf'];
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    const { sender } = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    tasks = createTaskStore(sender, { table: table.table, shards: CONSOLE_SHARDS });
    // A module of the page, without types here.
    ({ commandOf } = (await import(new URL('../page/command.js', import.meta.url).href)) as CommandModule);
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  /** As a POSIX shell splits it. */
  const wordsOf = (command: string): readonly string[] =>
    [...command.matchAll(/(?:[^\s'\\]|'[^']*'|\\.)+/g)].map(([word]) =>
      word.replaceAll(/'([^']*)'|\\(.)/g, (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? ''),
    );

  async function perform(act: Act) {
    const command = commandOf(act, { table: table.table, endpoint: table.endpoint });
    const [program, ...words] = wordsOf(command);
    expect(program).toBe('leasehold');
    return runCommand(table, ...words);
  }

  test('does what the act does', async () => {
    const added = await perform({
      verb: 'task.enqueue',
      queue: 'media',
      name: 'resize',
      id: "o'clock",
      input: { note: "it's" },
      reason,
    });
    expect(added).toMatchObject({ exitCode: 0 });
    expect(await tasks.get({ queue: 'media', id: "o'clock" })).toMatchObject({
      name: 'resize',
      input: { note: "it's" },
    });

    const dying = await claimed(tasks, 'somebody', { queue: 'media', id: 'dying', name: 'resize' });
    await tasks.discard(dying, { name: 'Error', message: 'page 7 is missing', at: 1 }, stamp());
    const fault = 'Error: page # is missing';
    const other = { verb: 'queue.retry', queue: 'media', name: 'resize', reason } as const;
    expect((await perform({ ...other, fault: 'Error: something else' })).out).toContain('0 tasks');
    expect((await perform({ ...other, fault })).out).toContain('1 task');
    expect(await tasks.get({ queue: 'media', id: 'dying' })).toMatchObject({ state: 'ready' });

    const { leaseCounter } = dying;
    const ofTask = { queue: 'media', id: 'dying', leaseCounter, reason };
    expect(await perform({ ...ofTask, verb: 'task.cancel' })).toMatchObject({ exitCode: 0 });
    expect(await perform({ ...ofTask, verb: 'task.retry' })).toMatchObject({ exitCode: 0 });
    expect(await perform({ ...ofTask, verb: 'task.run-now' })).toMatchObject({ exitCode: 0 });

    expect((await perform({ verb: 'queue.pause', queue: 'media', reason })).exitCode).toBe(0);
    expect((await perform({ verb: 'queue.resume', queue: 'media', reason })).exitCode).toBe(0);

    const tenant = { queue: 'media', tenant: "o'neil", reason };
    await enqueued(tasks, { queue: 'media', id: 'of a tenant', tenant: tenant.tenant });
    expect((await perform({ ...tenant, verb: 'queue.pause' })).out).toContain("tenant o'neil of queue media is paused");
    expect((await perform({ ...tenant, verb: 'queue.cancel', name: 'resize' })).exitCode).not.toBe(0);
    expect((await perform({ ...tenant, verb: 'queue.cancel' })).out).toContain('cancelled 1 task');
    expect((await perform({ ...tenant, verb: 'queue.resume' })).exitCode).toBe(0);

    const session = await table.leasehold.session(SOON_TOLD);
    const lock = await session.lock('a/lock');
    const permit = await session.permit('uploads', { limit: 1 });
    const release = { verb: 'lock.release', key: 'a/lock', leaseCounter: lock.fencingToken, reason } as const;
    expect(await perform(release)).toMatchObject({ exitCode: 0 });
    const evict = { verb: 'semaphore.evict', name: 'uploads', leaseCounter: permit.fencingToken, reason } as const;
    expect(await perform(evict)).toMatchObject({ exitCode: 0 });
    expect(await perform({ verb: 'session.destroy', id: session.id, reason })).toMatchObject({ exitCode: 0 });
  });
});

describe.skipIf(!canBrowse)('the page of a task', () => {
  const its = browsedConsole({ queues: ['media'] });

  test('answers the callback of a durable task, and shows its history', async () => {
    const order = durableTask({
      name: 'order',
      run: (_: unknown, ctx) => ctx.waitForCallback('approval', async () => undefined),
    });
    const at = { endpoint: its.table.endpoint, table: its.table.table, queue: 'media', shards: CONSOLE_SHARDS };
    const log = { info: ignore, warn: ignore, error: ignore, debug: ignore };
    const work = () => createWorker({ order }, { ...at, untilDrained: true, log }).run();
    await enqueued(its.tasks, { queue: 'media', id: 'waits', name: 'order' });
    await work();
    await using opened = await openOn(its.browser, its.running, 'task?queue=media&id=waits');
    const { page } = opened;

    await page.getByText('suspended').waitFor();
    await page.getByText('CallbackStarted').waitFor();
    await page.getByRole('button', { name: 'Succeed… approval' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Result').fill('yes');
    await dialog.getByLabel('Reason').fill(reason);
    expect(await dialog.locator('pre').textContent()).toContain('leasehold callbacks succeed');
    await dialog.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('the answer is accepted').waitFor();

    await work();
    expect(await its.tasks.get({ queue: 'media', id: 'waits' })).toMatchObject({ state: 'done', result: 'yes' });
    const audit = await runCommand(its.table, 'audit', '--limit', '1', '--json');
    expect(JSON.parse(audit.out)).toMatchObject([{ verb: 'callback.succeed', reason }]);
  });

  test('runs it again with other input, which is checked while one types', async () => {
    await enqueued(its.tasks, { queue: 'media', id: 'first', name: 'resize', input: { key: 'a.png', width: 640 } });
    await using opened = await openOn(its.browser, its.running, 'task?queue=media&id=first');
    const { page } = opened;
    await page.getByRole('button', { name: 'Run again with this input…' }).click();
    const dialog = page.getByRole('dialog');
    const input = dialog.getByLabel('Input (JSON)');
    expect(JSON.parse(await input.inputValue())).toEqual({ key: 'a.png', width: 640 });

    await input.fill('{"key": ');
    await dialog.getByText('This is not JSON').waitFor();
    expect(await input.getAttribute('aria-invalid')).toBe('true');
    await dialog.getByRole('button', { name: 'Add task' }).click();
    expect(await page.evaluate('document.activeElement.name')).toBe('input');

    await input.fill('{"key": "b.png"}');
    await dialog.getByText('Unlike the last input seen with this name: without width.').waitFor();
    await dialog.getByLabel('Id').fill('second');
    await dialog.getByText('As a command').click();
    expect(await dialog.locator('pre').textContent()).toContain(
      `leasehold enqueue resize '{"key":"b.png"}' --queue media --id second`,
    );
    await dialog.getByRole('button', { name: 'Add task' }).click();
    await page.getByRole('heading', { name: 'second' }).waitFor();
    expect(await its.tasks.get({ queue: 'media', id: 'second' })).toMatchObject({
      name: 'resize',
      input: { key: 'b.png' },
      state: 'ready',
    });
  });

  test('leads to its children and back to its parent, and says how far they are', async () => {
    const parent = await claimed(its.tasks, 'somebody', { queue: 'media', id: 'album', name: 'album' });
    const batch = childrenBatch(parent);
    const children = ['page-1', 'page-2', 'page-3'].map((id) =>
      newTask({ queue: 'media', id, name: 'page', links: { batch } }),
    );
    await its.tasks.waitForChildren(claimOf(parent), batch, children, numbered());
    await using opened = await openOn(its.browser, its.running, 'task?queue=media&id=album');
    const { page } = opened;
    await page.getByText('Waits for 3 children: 3 not ended.').waitFor();
    await page.locator('.badge', { hasText: 'waiting for its children' }).waitFor();
    await page.getByText('when its children have ended').waitFor();

    const ready = await its.tasks.get({ queue: 'media', id: 'page-2' });
    if (ready?.state !== 'ready') throw new Error('it waits');
    const claim = await its.tasks.claim(ready, 'somebody', stamp());
    if (claim.kind === 'refused') throw new Error('the claim was refused');
    await its.tasks.complete(claim.row, { ok: true }, stamp());
    await page.getByText('Waits for 3 children: 1 done, 2 not ended.').waitFor();
    await page.getByRole('link', { name: 'page-2' }).click();
    await page.getByRole('heading', { name: 'page-2' }).waitFor();
    await page.getByRole('link', { name: 'album' }).click();
    await page.getByRole('heading', { name: 'album' }).waitFor();
  });

  test('says what a refused token is, at its field', async () => {
    await using session = await its.table.leasehold.session({ ...SOON_TOLD });
    await session.lock('a/lock');
    await using opened = await openOn(its.browser, its.running, 'locks?prefix=a/');
    const { page } = opened;
    await page.getByRole('button', { name: 'Force release… a/lock' }).click();
    const token = page.getByLabel('Token (must still match)');
    await token.fill('1');
    await page.getByLabel('Reason').fill('a drill');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('is not held with token 1').waitFor();
    expect(await token.getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate('document.activeElement.name')).toBe('token');
    expect(await token.getAttribute('aria-describedby')).toContain('refusal');
    expect(await page.getByLabel('Reason').inputValue()).toBe('a drill');
  });
});

function ignore(): void {}
