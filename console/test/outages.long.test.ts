/** The store away for a whole minute. */
import { describe, inject, test } from 'vitest';
import { findChromium, launchBrowser } from '../../test/support/browser.ts';
import { openOn } from './support/console-page.ts';
import { openConsole } from './support/console.ts';
import { outlastOutage } from './support/outage.ts';
import { openTunnel } from './support/tunnel.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const chromium = findChromium();
const MINUTE_MS = 60_000;

describe.skipIf(endpoint === null || chromium === undefined)('the page', () => {
  test('outlasts a store that is away for a minute', async () => {
    const table = await openCommandTable(endpoint ?? '');
    await using tunnel = await openTunnel(endpoint ?? '');
    const running = await openConsole({ ...table, endpoint: `http://127.0.0.1:${tunnel.port}` });
    const browser = await launchBrowser(chromium ?? '');
    await using opened = await openOn(browser, running, 'overview');
    await opened.page.locator('tbody td.quiet time').first().waitFor();

    await outlastOutage(opened.page, tunnel, MINUTE_MS);

    await browser.close();
    await running.close();
    closeCommandTable(table);
  });
});
