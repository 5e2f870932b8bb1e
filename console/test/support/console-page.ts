/** Pages of the console in a real browser. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { RunningConsole } from '../../server/server.ts';
import { PATIENCE_MS } from '../../../test/support/browser.ts';

interface WatchedPage extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** The browser's complaints: errors, and breaches of the page's own policy. */
  readonly complaints: readonly string[];
}

export async function openPage(
  browser: Browser,
  address: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('dialog', (dialog) => {
    complaints.push(`a script from elsewhere ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** A browser of its own that is let in by a console, at one of its pages. */
export async function openOn(
  browser: Browser,
  running: RunningConsole,
  hash: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<WatchedPage> {
  const opened = await openPage(browser, running.invite(), options);
  await visit(opened.page, hash);
  return opened;
}

export async function visit(page: Page, hash: string): Promise<void> {
  await page.evaluate((there) => {
    (globalThis as unknown as { location: { hash: string } }).location.hash = there;
  }, `#/${hash}`);
  await page.locator('main:not([aria-busy]) h1').waitFor();
}

/** The focused element: its accessible name, or its tag. */
export function focused(page: Page): Promise<string> {
  return page.evaluate(
    '(({ tagName, textContent, ariaLabel, name }) => ariaLabel || name || textContent.trim() || tagName)(document.activeElement)',
  );
}
