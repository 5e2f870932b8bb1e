/** A real browser for the console's page: this machine's Chromium, without a display. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import type { RunningConsole } from '../../server.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Undefined on a machine without one, which is said. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const candidates = folders.flatMap((folder) => NAMES.map((name) => path.join(folder, name)));
  const found = candidates.find(isExecutable);
  if (found === undefined)
    process.stderr.write(
      "skipping the console's browser tests: no Chromium was found on the PATH; on Debian: apt-get install chromium\n",
    );
  return found;
}

/** For what hangs, as that of every poll: on a busy machine a browser alone may take most of a minute to start. */
const PATIENCE_MS = 300_000;

export function launchBrowser(executablePath: string, flags: readonly string[] = []): Promise<Browser> {
  // A container's root has no user namespaces for the sandbox, and we open only our own page.
  return chromium.launch({ executablePath, args: [...QUIET, ...flags], timeout: PATIENCE_MS });
}

/** It talks to nothing but what a test opens. */
const QUIET = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

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

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
