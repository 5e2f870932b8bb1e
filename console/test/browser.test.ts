/** The console in a real browser: its live views, and a person's actions. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { RunningConsole } from '../server/server.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { browsedConsole, canBrowse, openOn, openPage, visit } from './support/console-page.ts';
import { openConsole } from './support/console.ts';
import { MARKUP } from './support/console-scene.ts';
import { SOON_TOLD } from '../../test/support/patient.ts';
import { claimOf, enqueued, stamp } from '../../test/support/tasks.ts';

/** A badge with this text in the page's body. */
const badge = (page: Page, text: string) => page.locator('main .badge', { hasText: new RegExp(`^${text}$`) });

describe.skipIf(!canBrowse)('the console in a browser', () => {
  const its = browsedConsole();

  const open = (hash: string, from: RunningConsole = its.running) => openOn(its.browser, from, hash);

  test('lets a browser in once: the token leaves its address, and another browser needs its own', async () => {
    const address = its.running.invite();
    await using first = await openPage(its.browser, address);
    await first.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(first.page.url()).toBe(its.running.address);
    await first.page.reload();
    await first.page.getByRole('heading', { name: 'Overview' }).waitFor();

    await using second = await openPage(its.browser, address);
    await second.page.getByText('was used already').waitFor();
    await second.page.locator('code', { hasText: 'leasehold console' }).waitFor();
    // In the console's own style: the sheet was let through.
    expect(await second.page.evaluate('getComputedStyle(document.body).margin')).toBe('0px');
    expect(await first.page.evaluate('document.cookie')).toBe('');
    expect(first.complaints).toEqual([]);
  });

  test('shows a task go through its states while a page is open', async () => {
    await using session = await its.table.leasehold.session({ name: 'worker/default', node: 'host-7' });
    const ready = await enqueued(its.tasks, { queue: 'default', id: 'a photo' });
    await using list = await open('tasks?queue=default');
    await using opened = await open('task?queue=default&id=a+photo');
    const { page } = opened;
    await badge(page, 'ready').waitFor();
    const row = list.page.locator('tr', { hasText: 'a photo' });
    await row.locator('.badge', { hasText: 'ready' }).waitFor();

    const claimed = await its.tasks.claim(ready, session.id, stamp());
    if (claimed.kind === 'refused') throw new Error('the claim was refused');
    await badge(page, 'running').first().waitFor();
    await page.getByText('host-7').first().waitFor();
    await row.locator('.badge', { hasText: 'running' }).waitFor();

    await its.tasks.complete(claimOf(claimed.row), { bytes: 48_213 }, stamp());
    await badge(page, 'done').first().waitFor();
    await page.getByText('"bytes": 48213').waitFor();
    await row.waitFor({ state: 'detached' });
    expect([...opened.complaints, ...list.complaints]).toEqual([]);
  });

  test('shows hostile text as text, wherever it stands', async () => {
    await using session = await its.table.leasehold.session({ name: MARKUP, node: MARKUP });
    const ready = await enqueued(its.tasks, {
      queue: 'default',
      id: MARKUP,
      name: MARKUP,
      input: { [MARKUP]: MARKUP },
    });
    await session.lock(MARKUP, { value: MARKUP });
    await session.permit(MARKUP, { limit: 2 });
    const claimed = await its.tasks.claim(ready, session.id, stamp());
    if (claimed.kind === 'refused') throw new Error('the claim was refused');
    const error = { name: MARKUP, message: MARKUP, at: systemRuntime.clock.now() };
    await its.tasks.retry(claimed.row, { error, readyAt: 0 }, stamp());

    await using opened = await open(`task?${new URLSearchParams({ queue: 'default', id: MARKUP }).toString()}`);
    const { page } = opened;
    await page.getByRole('heading', { name: MARKUP, exact: true }).waitFor();
    for (const hash of ['', 'tasks?queue=default', 'sessions', 'locks', 'semaphores', 'queues', 'audit']) {
      if (hash !== '') await visit(page, hash);
      const text = () => page.locator('main').textContent();
      // A page's content comes with its first answer, and then with polls.
      if (!['queues', 'audit'].includes(hash)) await expect.poll(text).toContain('<img src=x');
      expect(await page.locator('main img, main script').count(), hash).toBe(0);
    }
    expect(opened.complaints).toEqual([]);
  });

  test('releases a lock by force with the counter that is right, and not with another', async () => {
    await using session = await its.table.leasehold.session({ name: 'nightly job', node: 'host-1', ...SOON_TOLD });
    const lock = await session.lock('reports/nightly');
    await using opened = await open('locks?prefix=reports');
    const { page } = opened;
    await page.getByRole('button', { name: 'Force release… reports/nightly' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain('nightly job on host-1');
    expect(await dialog.getByLabel('Token (must still match)').inputValue()).toBe(String(lock.fencingToken));
    // The reason is where one begins to type.
    await page.keyboard.type('its host burnt down');
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('its host burnt down');

    await dialog.getByLabel('Token (must still match)').fill(String(lock.fencingToken - 1));
    await dialog.getByRole('button', { name: 'Force release lock' }).click();
    await dialog.getByRole('alert').getByText(`it is held with token ${lock.fencingToken}`).waitFor();
    expect((await its.table.leasehold.locks.get('reports/nightly'))?.holder?.session).toBe(session.id);

    await dialog.getByLabel('Token (must still match)').fill(String(lock.fencingToken));
    await dialog.getByRole('button', { name: 'Force release lock' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText(/^lock-delay, /).waitFor();
    await expect.poll(() => lock.signal.aborted).toBe(true);

    await visit(page, 'audit');
    await page
      .getByRole('row', { name: /lock\.release .*its host burnt down/ })
      .first()
      .waitFor();
    expect(opened.complaints.filter((text) => !text.includes('409'))).toEqual([]);
  });

  test('pauses a queue from the keyboard alone', async () => {
    await enqueued(its.tasks, { queue: 'media' });
    const watching = await openConsole(its.table, { queues: ['media'] });
    await using opened = await open('queues', watching);
    const { page } = opened;
    const button = page.getByRole('button', { name: 'Pause… media' });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('a drill');
    await page.keyboard.press('Enter');

    await page.locator('tr .badge', { hasText: 'paused' }).waitFor();
    // A poll may have seen the pause before the action was answered; until then, keys are typed into the dialog.
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('4');
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    await page.keyboard.press('3');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.name')).toBe('id');
    expect(await its.table.leasehold.operator.resume({ queue: 'media' })).toMatchObject({ isPaused: false });
    await watching.close();
  });

  test('pauses a tenant, says how many of its tasks there are, and cancels them', async () => {
    for (const id of ['one', 'two']) await enqueued(its.tasks, { queue: 'shop', id, tenant: 'acme' });
    const watching = await openConsole(its.table, { queues: ['shop'] });
    await using opened = await open('queues', watching);
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Pause… shop' }).click();
    await dialog.getByLabel('Tenant').fill('acme');
    await dialog.getByLabel('Reason').fill('a drill');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('tenant acme of queue shop is paused').waitFor();

    await page.getByRole('link', { name: 'shop' }).click();
    await page.getByRole('button', { name: 'Cancel… tasks of shop' }).click();
    await page.keyboard.type('acme');
    await page.keyboard.press('Tab');
    await dialog.getByText('2 waiting and 0 running now.').waitFor();
    await dialog.getByLabel('Reason').fill('the customer has left');
    await dialog.getByRole('button', { name: 'Cancel tasks' }).click();
    await page.getByText('cancelled 2 waiting tasks of tenant acme in queue shop').waitFor();

    await page.keyboard.press('2');
    await page.getByRole('button', { name: 'Resume… shop' }).click();
    expect(await dialog.getByLabel('Tenant').inputValue()).toBe('acme');
    await watching.close();
  });

  test('keeps what is being typed while the page goes on living', async () => {
    await using opened = await open('tasks?queue=default');
    const { page } = opened;
    const field = page.getByLabel('Id, or its start');
    await field.fill('half an i');
    const unitsText = await page.locator('.units').textContent();

    await expect.poll(() => page.locator('.units').textContent()).not.toBe(unitsText);

    expect(await field.inputValue()).toBe('half an i');
    expect(await page.evaluate('document.activeElement.name')).toBe('id');
  });

  test('offers nothing to do when it is read-only', async () => {
    await using session = await its.table.leasehold.session();
    await session.lock('only/looking');
    const readOnly = await openConsole(its.table, { isReadOnly: true });
    await using opened = await open('locks?prefix=only', readOnly);
    const { page } = opened;
    await page.getByText('only/looking').waitFor();

    expect(await page.locator('main').getByRole('button').count()).toBe(0);
    expect(await page.locator('#bar').textContent()).toContain('read-only');
    await readOnly.close();
  });

  test('says that the connection is lost, and goes on when the console is back', async () => {
    const brief = await openConsole(its.table);
    await using opened = await open('overview', brief);
    const { page } = opened;
    await brief.close();
    await page.getByText('Reconnecting').waitFor();
    expect(await page.getByRole('heading', { name: 'Overview' }).isVisible()).toBe(true);

    const again = await openConsole(its.table, { port: brief.port });
    await page.getByText('Sign-in expired').waitFor();
    await page.goto(again.invite());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await again.close();
  });
});
