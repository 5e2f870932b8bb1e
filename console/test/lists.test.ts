/** The lists of tasks: every state has one, with its count; the list of queues includes each queue that has a worker. */
import { describe, expect, test, vi } from 'vitest';
import { placeOrder } from '../../examples/invoices/api.ts';
import { openOrders } from '../../examples/invoices/orders.ts';
import { startPaymentServer } from '../../examples/invoices/payment-server.ts';
import { invoice, statement } from '../../examples/invoices/tasks.ts';
import { localSettings } from '../../examples/store.ts';
import type { Overview } from '../model.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { createWorker } from '../../shared/client/create-worker.ts';
import { silent } from '../../shared/testing/silent-log.ts';
import { workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import type { ReadyTask } from '../../shared/tasks/task/task.ts';
import { browsedConsole, canBrowse, openOn } from './support/console-page.ts';
import { enter, newsOf, openConsole } from './support/console.ts';
import { claimed, enqueued, stamp } from '../../test/support/tasks.ts';

const HOUR_MS = 3_600_000;
const WAITING = 45;

describe.skipIf(!canBrowse)('the lists of tasks', () => {
  const its = browsedConsole({ queues: ['mail'] }, async ({ tasks }) => {
    const client = new TaskClient({ store: tasks, runtime: systemRuntime }, { queue: 'mail' });
    const read = async (id: string) => (await tasks.get({ queue: 'mail', id })) as ReadyTask;
    const ids = Array.from({ length: WAITING }, (_, n) => `waiting-${n}`);
    for (const id of ['first', ...ids]) await client.enqueue('send', {}, { id, key: 'one', limit: 1 });
    await tasks.claim(await read('first'), 'somebody', stamp());
    await enqueued(tasks, { queue: 'mail', id: 'later', name: 'digest', runAt: systemRuntime.clock.now() + HOUR_MS });
    const done = await claimed(tasks, 'somebody', { queue: 'mail', id: 'sent-1', name: 'send' });
    await tasks.complete(done, { ok: true }, stamp());
  });

  test('count every state, and list what is ready to its end', async () => {
    await using opened = await openOn(its.browser, its.running, 'tasks?queue=mail');
    const { page } = opened;
    const tabs = page.getByRole('navigation', { name: 'States' });
    // The page reads only the oldest rows, to tell which of the entries are at work.
    await tabs.getByText(`Ready ≈ ${WAITING}`).waitFor();
    expect(await tabs.getByRole('link').allTextContents()).toEqual([
      'Unfinished',
      `Ready ≈ ${WAITING}`,
      'Delayed 1',
      'Running ≥ 1',
      'Dead 0',
      'Finished',
    ]);

    await tabs.getByRole('link', { name: /^Ready/ }).click();
    const seen = new Set<string>();
    for (;;) {
      await page.locator('main:not([aria-busy]) tbody tr').first().waitFor();
      for (const id of await page.locator('tbody th').allTextContents()) seen.add(id);
      const next = page.getByRole('link', { name: 'Next page' });
      if ((await next.count()) === 0) break;
      const before = page.url();
      await next.click();
      await expect.poll(() => page.url()).not.toBe(before);
    }
    expect(seen.size).toBe(WAITING);
  });

  test('find by the start of an id and of a name, at an address with the words of the page', async () => {
    await using opened = await openOn(its.browser, its.running, 'tasks?queue=mail&state=delayed');
    const { page } = opened;
    await page.getByRole('link', { name: 'later' }).waitFor();
    await page.getByLabel('Name, or its start').fill('dig');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('state=delayed&name=dig');
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.getByLabel('Id, or its start').fill('lat');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('id=lat');
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  test('shows finished tasks, the latest first', async () => {
    await using opened = await openOn(its.browser, its.running, 'tasks?queue=mail&state=finished');
    const { page } = opened;
    await page.getByRole('row', { name: /sent-1.*send.*done/i }).waitFor();
    const done = await claimed(its.tasks, 'somebody', { queue: 'mail', id: 'sent-2', name: 'send' });
    await its.tasks.complete(done, { ok: true }, stamp());
    await page.getByRole('row', { name: /sent-2/ }).waitFor();
    expect(await page.locator('tbody th').allTextContents()).toEqual(['sent-2', 'sent-1']);
    await page.getByRole('link', { name: 'Cancelled' }).click();
    await page.getByText('No finished tasks.').waitFor();
  });

  test('tell what happened to an order of the example invoices, by its label', async () => {
    const queue = 'invoices';
    const { endpoint, table } = its.table;
    await using payments = await startPaymentServer(() => (payments.charges.length === 0 ? 0.3 : 0.9));
    for (const [name, value] of Object.entries(await localSettings(endpoint))) vi.stubEnv(name, value);
    vi.stubEnv('PAYMENTS_URL', payments.url);
    await openOrders();
    using leasehold = createLeasehold({ endpoint, table, queue });
    const options = { endpoint, table, queue, listFinished: true, untilDrained: true, log: silent };
    // One after the other: the first charge is lost.
    for (const [nth, account] of ['a', 'b'].entries()) {
      expect(await placeOrder(leasehold, { id: `o-${7 + nth}`, account, card: account, cents: 500 })).toMatchObject({
        status: 202,
      });
      await createWorker({ invoice, statement }, options).run();
    }
    await using opened = await openOn(its.browser, its.running, `tasks?queue=${queue}&state=finished`);
    const { page } = opened;
    await page.getByRole('img', { name: /^Ended a minute: now 4/ }).waitFor();
    await page.getByRole('row', { name: /^invoice 2 0 1/ }).waitFor();
    await page.getByLabel('Part of an id, label or key').fill('order o-7');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('row', { name: /order o-8/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'invoice/o-7' }).click();
    await page.getByRole('heading', { name: 'invoice/o-7' }).waitFor();
    await page.getByText('order o-7').first().waitFor();
    await page.getByText('lost after charging').first().waitFor();
  });

  test('paint what is delayed unlike what is due', async () => {
    await using opened = await openOn(its.browser, its.running, 'queues');
    const { page } = opened;
    await page.locator('.stack .delayed').first().waitFor();
    const look = (name: string) =>
      page.evaluate(
        `(({ backgroundImage, backgroundColor }) => backgroundImage + backgroundColor)(getComputedStyle(document.querySelector('.stack .${name}')))`,
      );
    const looks = await Promise.all(['high', 'normal', 'low', 'delayed'].map(look));
    expect(new Set(looks).size).toBe(4);
  });

  test('know a queue whose workers hold no permit, and take the name of any other', async () => {
    await using _worker = await its.table.leasehold.session({ name: workerName('by-hand'), ttl: '60s' });
    const watching = await openConsole(its.table, { queues: ['mail'] });
    await using opened = await openOn(its.browser, watching, 'queues');
    await opened.page.getByRole('link', { name: 'by-hand' }).waitFor();

    await enqueued(its.tasks, { queue: 'quiet', id: 'unheard' });
    await using list = await openOn(its.browser, watching, 'tasks');
    await list.page.getByLabel('Queue', { exact: true }).fill('quiet');
    await list.page.keyboard.press('Enter');
    await list.page.getByRole('link', { name: 'unheard' }).waitFor();
    await watching.close();
  });

  test('shows a pause at the next poll, for any number of queues', async () => {
    const queues = Array.from({ length: 12 }, (_, n) => `q-${n}`);
    const watching = await openConsole(its.table, { queues });
    const visitor = await enter(watching);
    const over = new AbortController();
    const news = newsOf(visitor, over.signal);
    let overview = (await news.next()).value as Overview | undefined;
    while (overview !== undefined && overview.queues.length < queues.length)
      overview = (await news.next()).value as Overview | undefined;

    await visitor.act({ verb: 'queue.pause', queue: 'q-7', reason: 'a drill' });

    // A poll in flight may report first.
    const after = [(await news.next()).value, (await news.next()).value] as readonly (Overview | undefined)[];
    const told = after.map((one) => one?.queues.find(({ queue }) => queue === 'q-7')?.isPaused);
    expect(told).toContain(true);
    over.abort();
    await watching.close();
  });
});
