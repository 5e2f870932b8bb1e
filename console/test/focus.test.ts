/** Focus after its element is gone, and controls that open, close or navigate only when they should. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { browsedConsole, canBrowse, focused, openOn } from './support/console-page.ts';
import { SOON_TOLD } from '../../test/support/patient.ts';
import { claimed, enqueued, stamp } from '../../test/support/tasks.ts';

const HOUR_MS = 3_600_000;

describe.skipIf(!canBrowse)('the focus', () => {
  const its = browsedConsole({ queues: ['default', 'media'] });

  const open = (hash: string) => openOn(its.browser, its.running, hash);

  /** Uses only the keyboard, and the button's accessible name. */
  async function act(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('a drill');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  }

  test('never lands on another act: after Retry and Run now it is at the heading', async () => {
    const dying = await claimed(its.tasks, 'somebody', { queue: 'default', id: 'dying' });
    await its.tasks.discard(dying, { name: 'Error', message: 'no', at: 1 }, stamp());
    await using opened = await open('task?queue=default&id=dying');
    const { page } = opened;
    await act(page, 'Retry… dying');
    await page.getByRole('button', { name: 'Cancel… dying' }).waitFor();
    await expect.poll(() => focused(page)).toBe('dying');

    await enqueued(its.tasks, { queue: 'default', id: 'early', runAt: systemRuntime.clock.now() + HOUR_MS });
    await using later = await open('task?queue=default&id=early');
    await act(later.page, 'Run now… early');
    await later.page.getByRole('button', { name: 'Run now… early' }).waitFor({ state: 'detached' });
    await expect.poll(() => focused(later.page)).toBe('early');
  });

  test('goes to its row after Force release, and to the heading when the row is gone', async () => {
    await using session = await its.table.leasehold.session({ name: 'job', node: 'host-1', ...SOON_TOLD });
    await session.lock('reports/nightly');
    await using opened = await open('locks?prefix=reports');
    await act(opened.page, 'Force release… reports/nightly');
    await opened.page.getByText(/^lock-delay, /).waitFor();
    await expect.poll(() => focused(opened.page)).toBe('Locks and leaders');

    const other = await its.table.leasehold.session({ name: 'to end', node: 'host-2', ...SOON_TOLD });
    await using sessions = await open('sessions');
    await act(sessions.page, `Destroy… to end on host-2, session ${other.id}`);
    await sessions.page.getByRole('row', { name: /to end.*Destroy/ }).waitFor({ state: 'detached' });
    await expect.poll(() => focused(sessions.page)).toBe('Sessions');
  });

  test('goes to the link of its row after Pause, whose button is another one now', async () => {
    await using opened = await open('queues');
    const { page } = opened;
    await page.getByRole('row', { name: /media/ }).waitFor();
    await act(page, 'Pause… media');
    await page.getByRole('button', { name: 'Resume… media' }).waitFor();
    await expect.poll(() => focused(page)).toBe('media');
    await its.table.leasehold.operator.resume({ queue: 'media' });
  });

  test('goes to the heading when a focused row leaves the list', async () => {
    const leaving = await enqueued(its.tasks, { queue: 'default', id: 'leaving' });
    await using opened = await open('tasks?queue=default');
    const link = opened.page.getByRole('link', { name: 'leaving' });
    await link.focus();
    await its.tasks.cancel(leaving, { at: 1, reason: 'a drill' }, stamp());
    await link.waitFor({ state: 'detached' });
    await expect.poll(() => focused(opened.page)).toBe('Tasks');
  });

  test('stays in its row while others come and go before it', async () => {
    await enqueued(its.tasks, { queue: 'media', id: 'b' });
    await using opened = await open('tasks?queue=media');
    const link = opened.page.getByRole('link', { name: 'b', exact: true });
    await link.focus();
    await enqueued(its.tasks, { queue: 'media', id: 'a', priority: 'high' });
    await opened.page.getByRole('link', { name: 'a', exact: true }).waitFor();
    expect(await focused(opened.page)).toBe('b');
  });

  test('leaves no dialog behind on another page', async () => {
    await using session = await its.table.leasehold.session();
    await session.lock('left/behind');
    await using opened = await open('overview');
    const { page } = opened;
    await page.getByRole('link', { name: /^Locks/ }).click();
    await page.getByRole('button', { name: 'Force release… left/behind' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('stays in the field of the queue, which navigates with Enter and not with an arrow key', async () => {
    await using opened = await open('tasks?queue=default');
    const { page } = opened;
    const field = page.getByLabel('Queue', { exact: true });
    await page.locator('datalist option[value=media]').waitFor({ state: 'attached' });
    await field.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    expect(page.url()).toContain('queue=default');
    await page.keyboard.press('Escape');
    await field.fill('');
    await page.keyboard.type('media');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('queue=media');
    expect(await focused(page)).toBe('queue');
  });
});
