/** Dead tasks by name and fault: by keyboard alone, and tasks that died after they were seen. */
import { describe, expect, test } from 'vitest';
import type { DeadPage } from '../model.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { browsedConsole, canBrowse, focused, openOn } from './support/console-page.ts';
import { enter } from './support/console.ts';
import { endOrders } from './support/console-scene.ts';
import { describeTriageOf } from './support/triage.ts';
import { claimed, stamp } from '../../test/support/tasks.ts';

describe.skipIf(!canBrowse)('the triage of dead tasks', () => {
  const its = browsedConsole();

  async function bury(queue: string, id: string, name: string, message: string): Promise<void> {
    const task = await claimed(its.tasks, 'somebody', { queue, id, name });
    await its.tasks.discard(task, { name: 'Error', message, at: systemRuntime.clock.now() }, stamp());
  }

  const stateOf = async (queue: string, id: string) => (await its.tasks.get({ queue, id }))?.state;

  test('groups five by name and error, and retries one group from the keyboard alone', async () => {
    for (const n of [107, 108, 109]) await bury('few', `inv-${n}`, 'invoice', `invoice ${n} has no address`);
    await bury('few', 'inv-200', 'invoice', 'connect ECONNREFUSED 10.0.0.7:5432');
    await bury('few', 'mail-1', 'mail', 'invoice 1 has no address');
    await using opened = await openOn(its.browser, its.running, 'tasks?queue=few&state=dead');
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
    const audit = (await (await (await enter(its.running)).get('api/audit')).json()) as { acts: { target: string }[] };
    expect(audit.acts[0]?.target).toBe('few/* invoice Error: invoice # has no address');
  });

  test('finds what failed in the list of finished tasks, and retries it, by the keyboard alone', async () => {
    await endOrders(its.table);
    await using opened = await openOn(its.browser, its.running, 'tasks?queue=orders&state=finished');
    const { page } = opened;
    await page.getByRole('row', { name: /o-1/ }).waitFor();
    await page.getByRole('link', { name: 'Failed' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('tbody th').allTextContents()).toContain('charge/o-3');
    await expect.poll(() => page.getByRole('row', { name: /o-1/ }).count()).toBe(0);
    await page.getByRole('row', { name: /o-2.*done/i }).waitFor();
    await page.getByRole('link', { name: 'charge/o-3' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /dead.*a1b2c3.*the card is unknown/ }).waitFor();
    await page.getByRole('button', { name: 'Retry…' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('the card is known now');
    await page.keyboard.press('Enter');
    await page.locator('main .badge', { hasText: 'ready' }).waitFor();
    expect(await stateOf('orders', 'charge/o-3')).toBe('ready');
    expect(opened.complaints).toEqual([]);
  });

  test('retries none that died after the page was read', async () => {
    await bury('late', 'seen', 'mail', 'no 1');
    const visitor = await enter(its.running);
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
