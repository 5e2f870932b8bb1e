/** The page's messages while the store is unavailable, and afterwards. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Tunnel } from './tunnel.ts';

/** @param awayMs for how long after the page has noticed it */
export async function outlastOutage(page: Page, tunnel: Tunnel, awayMs: number): Promise<void> {
  const banner = page.locator('.trouble');
  const updated = page.locator('tbody td.quiet time').first();
  const colour = () => page.evaluate("getComputedStyle(document.querySelector('.figure b')).color");
  const usual = await colour();
  tunnel.stall();
  await banner.getByText(/^The table has not answered since \d.* Shown: as of then\. Trying again\./).waitFor();
  expect(await page.locator('#bar .feed').getAttribute('class')).toContain('stale');
  expect(await page.locator('#bar .feed').textContent()).toBe('Not up to date');
  expect(await colour()).not.toBe(usual);
  expect(await page.getByRole('heading', { name: 'Overview' }).isVisible()).toBe(true);

  // Ages continue by the browser's clock, and the technical text can be opened.
  await page.waitForTimeout(awayMs);
  await expect.poll(() => updated.textContent()).toMatch(/^(?:[5-9]|\d\d+) s ago|min ago/);
  await banner.locator('summary').click();
  expect(await banner.locator('details').textContent()).toContain('gave up');

  tunnel.flow();
  await banner.waitFor({ state: 'detached' });
  await page.locator('#bar .feed.live').waitFor();
  await expect.poll(() => updated.textContent()).toMatch(/^(?:now|[2-4] s ago)$/);
  expect(await colour()).toBe(usual);
}
