/** Single keys and updates, which a person can turn off; and moments, which can be shown as they are. */
import { describe, expect, test } from 'vitest';
import { browsedConsole, canBrowse, openOn } from './support/console-page.ts';

describe.skipIf(!canBrowse)('the page', () => {
  const its = browsedConsole();

  test('lists its keys under ?, and does nothing with them once they are off', async () => {
    await using opened = await openOn(its.browser, its.running, 'overview');
    const { page } = opened;
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog');
    for (const text of ['Overview', 'Audit', 'Find a task', 'This list']) await dialog.getByText(text).waitFor();
    await dialog.getByLabel('Single keys act').uncheck();
    await page.keyboard.press('Escape');

    await page.keyboard.press('3');
    await page.keyboard.press('/');
    await page.keyboard.press('?');
    expect(page.url()).toContain('#/overview');
    expect(await dialog.count()).toBe(0);
    // It holds after a reload, and can be turned on again without a key.
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('3');
    expect(page.url()).toContain('#/overview');
    await page.getByRole('button', { name: 'Keys and times' }).click();
    await dialog.getByLabel('Single keys act').check();
    await page.keyboard.press('Escape');
    await page.keyboard.press('3');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
  });

  test('stops while paused, and continues when asked', async () => {
    await using opened = await openOn(its.browser, its.running, 'overview');
    const { page } = opened;
    await page.getByRole('button', { name: 'Live: pause the updates' }).click();
    const button = page.getByRole('button', { name: 'Paused: go on with the updates' });
    await button.waitFor();
    await expect.poll(() => its.running.isLooking()).toBe(false);
    const before = await page.locator('.units').textContent();
    await page.waitForTimeout(1_500);
    expect(await page.locator('.units').textContent()).toBe(before);

    await button.click();
    await expect.poll(() => page.locator('.units').textContent()).not.toBe(before);
  });

  test('never draws a page with the data of the one before it', async () => {
    await using opened = await openOn(its.browser, its.running, 'tasks?queue=default');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.getByRole('button', { name: 'Live: pause the updates' }).waitFor();
    // The click draws at once; `hashchange` is heard only after this script.
    await page.evaluate(
      `location.hash = '#/task?queue=default&id=none'; document.querySelector('[data-key=feed]').click();`,
    );
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    // The browser itself complains about the 404.
    expect(opened.complaints.filter((complaint) => !complaint.includes('404'))).toEqual([]);
  });

  test('shows moments as they are to who wants that', async () => {
    await using opened = await openOn(its.browser, its.running, 'overview', {
      timezoneId: 'Europe/Berlin',
      locale: 'en-GB',
    });
    const { page } = opened;
    const updated = page.locator('tbody td.quiet time').first();
    await updated.waitFor();
    expect(await updated.textContent()).toMatch(/now|ago/);
    await page.getByRole('button', { name: 'Keys and times' }).click();
    await page.getByLabel('Show moments as date and time').check();
    await page.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => updated.textContent()).toMatch(/^\d\d:\d\d:\d\d (?:CET|CEST|GMT\+[12])$/);
  });
});
