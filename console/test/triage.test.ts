/** Dead tasks by name and fault: by keyboard alone, and tasks that died after they were seen. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { DeadPage } from '../model.ts';
import type { RunningConsole } from '../server/server.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import { findChromium, launchBrowser } from '../../test/support/browser.ts';
import { focused, openOn } from './support/console-page.ts';
import { CONSOLE_SHARDS, enter, openConsole } from './support/console.ts';
import { describeTriageOf } from './support/triage.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import { PATIENT } from '../../test/support/patient.ts';
import { claimed, stamp } from '../../test/support/tasks.ts';

const endpoint = inject('embeddedEndpoint');
const chromium = findChromium();

describe.skipIf(endpoint === null || chromium === undefined)('the triage of dead tasks', () => {
  let table: CommandTable;
  let tasks: TaskStore;
  let running: RunningConsole;
  let browser: Browser;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    const sender = new Sender({
      ...connectDynamo({ endpoint: table.endpoint }, systemRuntime),
      runtime: systemRuntime,
      policy: PATIENT,
    });
    tasks = createTaskStore(sender, { table: table.table, shards: CONSOLE_SHARDS });
    running = await openConsole(table);
    browser = await launchBrowser(chromium ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await running.close();
    closeCommandTable(table);
  });

  async function bury(queue: string, id: string, name: string, message: string): Promise<void> {
    const task = await claimed(tasks, 'somebody', { queue, id, name });
    await tasks.discard(task, { name: 'Error', message, at: systemRuntime.clock.now() }, stamp());
  }

  const stateOf = async (queue: string, id: string) => (await tasks.get({ queue, id }))?.state;

  test('groups five by name and error, and retries one group from the keyboard alone', async () => {
    for (const n of [107, 108, 109]) await bury('few', `inv-${n}`, 'invoice', `invoice ${n} has no address`);
    await bury('few', 'inv-200', 'invoice', 'connect ECONNREFUSED 10.0.0.7:5432');
    await bury('few', 'mail-1', 'mail', 'invoice 1 has no address');
    await using opened = await openOn(browser, running, 'tasks?queue=few&state=dead');
    const { page } = opened;
    await page.getByText('5 dead tasks in 3 groups').waitFor();
    const groups = page.locator('.group');
    expect(await groups.locator('summary').allTextContents()).toEqual([
      expect.stringMatching(/^3invoiceError: invoice # has no addressfirst .*, last /),
      expect.stringMatching(/Error: (?:invoice # has no address|connect ECONNREFUSED #)/),
      expect.stringMatching(/Error: (?:invoice # has no address|connect ECONNREFUSED #)/),
    ]);

    // Opened, a group lists its tasks; each is one key press from its page.
    await groups.first().locator('summary').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toMatch(/^inv-10[789]$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^inv-10/ }).waitFor();
    await page.goBack();

    await page.getByRole('button', { name: 'Retry 3… invoice: Error: invoice # has no address' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('the addresses are mended');
    await page.keyboard.press('Enter');
    await page.getByText('3 dead tasks of queue few will run again').waitFor();
    await page.getByText('2 dead tasks in 2 groups').waitFor();
    expect(await Promise.all(['inv-107', 'inv-108', 'inv-109'].map((id) => stateOf('few', id)))).toEqual([
      'ready',
      'ready',
      'ready',
    ]);
    expect(await stateOf('few', 'inv-200')).toBe('dead');
    expect(await stateOf('few', 'mail-1')).toBe('dead');
    const audit = (await (await (await enter(running)).get('api/audit')).json()) as { acts: { target: string }[] };
    expect(audit.acts[0]?.target).toBe('few/* invoice Error: invoice # has no address');
  });

  test('retries none that died after the page was read', async () => {
    await bury('late', 'seen', 'mail', 'no 1');
    const visitor = await enter(running);
    const { now } = (await (await visitor.get('api/dead?queue=late')).json()) as DeadPage;
    await systemRuntime.clock.sleep(5);
    await bury('late', 'unseen', 'mail', 'no 2');
    const act = { verb: 'queue.retry', queue: 'late', name: 'mail', fault: 'Error: no #', diedUntil: now };

    expect(await (await visitor.act({ ...act, reason: 'a drill' })).json()).toMatchObject({ kind: 'done' });

    expect(await stateOf('late', 'seen')).toBe('ready');
    expect(await stateOf('late', 'unseen')).toBe('dead');
  });
});

describeTriageOf(300);
