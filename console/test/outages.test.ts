/** A broken connection, and a store that does not answer: the page's message, and its recovery. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { findChromium, launchBrowser } from '../../test/support/browser.ts';
import { openOn, openPage } from './support/console-page.ts';
import { openConsole } from './support/console.ts';
import { openTunnel } from './support/tunnel.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const chromium = findChromium();
const CUT_MS = 5_000;
/** For how long the store is away after the page has noticed it. */
const AWAY_MS = 20_000;

describe.skipIf(endpoint === null || chromium === undefined)('the page', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('comes back by itself when a tunnel was cut for five seconds', async () => {
    const running = await openConsole(table);
    await using tunnel = await openTunnel(running.address);
    // As with ssh -L: the browser's address is the console's, and the way there is a tunnel.
    const browser = await launchBrowser(chromium ?? '', [
      `--host-resolver-rules=MAP localhost 127.0.0.1:${tunnel.port}`,
    ]);
    await using opened = await openPage(browser, running.invite().replace('127.0.0.1', 'localhost'));
    const { page } = opened;
    await page.locator('#bar .feed.live').waitFor();
    const units = page.locator('.units');

    await tunnel.cut();
    await page.getByText('Reconnecting').waitFor();
    await page.getByText(/^The console has not answered since/).waitFor();
    const before = await units.textContent();
    await page.waitForTimeout(CUT_MS);
    await tunnel.mend();

    await page.locator('#bar .feed.live').waitFor();
    await expect.poll(() => units.textContent()).not.toBe(before);
    expect(await page.locator('.trouble').count()).toBe(0);
    // It requests only existing files, so it never receives a 404.
    expect(opened.complaints.filter((text) => text.includes('404'))).toEqual([]);
    await browser.close();
    await running.close();
  });

  test('shows the time of the last answer, and resumes with the next one', async () => {
    await using tunnel = await openTunnel(endpoint ?? '');
    const running = await openConsole({ ...table, endpoint: `http://127.0.0.1:${tunnel.port}` });
    const browser = await launchBrowser(chromium ?? '');
    await using opened = await openOn(browser, running, 'overview');
    await opened.page.locator('tbody td.quiet time').first().waitFor();

    const { page } = opened;
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
    await page.waitForTimeout(AWAY_MS);
    await expect.poll(() => updated.textContent()).toMatch(/^(?:[5-9]|\d\d+) s ago|min ago/);
    await banner.locator('summary').click();
    expect(await banner.locator('details').textContent()).toContain('gave up');

    tunnel.flow();
    await banner.waitFor({ state: 'detached' });
    await page.locator('#bar .feed.live').waitFor();
    await expect.poll(() => updated.textContent()).toMatch(/^(?:now|[2-4] s ago)$/);
    expect(await colour()).toBe(usual);

    await browser.close();
    await running.close();
  });
});
