/** Cookies know no ports: what another server on this machine learns from a browser that was let into the console. */
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { listenOnLoopback } from '../../local/engine/listen.ts';
import { close } from '../../shared/core/listen.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import type { RunningConsole } from '../server/server.ts';
import { findChromium, launchBrowser } from '../../test/support/browser.ts';
import { openPage } from './support/console-page.ts';
import { openConsole } from './support/console.ts';

const endpoint = inject('embeddedEndpoint');
const chromium = findChromium();

describe.skipIf(endpoint === null || chromium === undefined)('another server on the machine of a console', () => {
  let table: CommandTable;
  let running: RunningConsole;
  let browser: Browser;
  let other: Server;
  let port: number;
  const cookies: string[] = [];
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    running = await openConsole(table);
    browser = await launchBrowser(chromium ?? '', ['--host-resolver-rules=MAP evil.example 127.0.0.1']);
    other = createServer(({ headers, url }, response) => {
      cookies.push(`${url ?? ''} ${headers.cookie ?? 'none'}`);
      response.setHeader('content-type', 'text/html');
      // A page that sends its own visitor on, as a site elsewhere would; and a page with a subresource.
      response.end(
        url === '/elsewhere'
          ? `<script>location.href = 'http://127.0.0.1:${port}/page'</script>`
          : '<img src="/picture"><script type="module">await fetch("/api/acts"); document.title = "done"</script>',
      );
    });
    port = await listenOnLoopback(other);
  });
  afterAll(async () => {
    await browser.close();
    await Promise.all([running.close(), close(other)]);
    closeCommandTable(table);
  });

  test.each(['127.0.0.1', 'evil.example'])(
    'gets no cookie of the console from a visitor that comes to %s',
    async (host) => {
      await using inside = await openPage(browser, running.invite());
      await inside.page.getByRole('heading', { name: 'Overview' }).waitFor();
      cookies.length = 0;

      const page = await inside.context.newPage();
      await page.goto(`http://${host}:${port}/elsewhere`);
      await page.waitForFunction('document.title === "done"');

      expect(cookies).toEqual(
        expect.arrayContaining(['/elsewhere none', '/page none', '/picture none', '/api/acts none']),
      );
      expect(cookies.filter((line) => line.includes('leasehold'))).toEqual([]);
      // The browser still has it, for the console's own pages.
      await inside.page.reload();
      await inside.page.getByRole('heading', { name: 'Overview' }).waitFor();
    },
  );

  test.each(['__proto__', 'constructor', 'toString'])('shows the overview at the address #/%s', async (page) => {
    await using opened = await openPage(browser, running.invite());
    await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();

    await opened.page.goto(new URL(`#/${page}`, opened.page.url()).href);
    await opened.page.reload();

    await expect
      .poll(
        async () => opened.complaints.length + (await opened.page.getByRole('heading', { name: 'Overview' }).count()),
      )
      .toBeGreaterThan(0);
    expect(opened.complaints).toEqual([]);
  });
});
