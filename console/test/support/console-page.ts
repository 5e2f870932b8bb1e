/** Pages of the console in a real browser. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';
import type { PageOptions } from '../../../cli/page.ts';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { createTaskStore } from '../../../shared/tasks/rows/task/dynamo-task-store.ts';
import type { TaskStore } from '../../../shared/tasks/task/task-store.ts';
import { PATIENCE_MS, findChromium, launchBrowser } from '../../../test/support/browser.ts';
import type { CommandTable } from '../../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../../test/support/command-table.ts';
import { PATIENT } from '../../../test/support/patient.ts';
import type { RunningConsole } from '../../server/server.ts';
import { CONSOLE_SHARDS, openConsole } from './console.ts';

/** Shared by the tests of a suite: a table, its console, and a browser. */
interface Browsed {
  table: CommandTable;
  tasks: TaskStore;
  running: RunningConsole;
  browser: Browser;
}

const endpoint = inject('embeddedEndpoint');
const chromium = findChromium();
export const canBrowse = endpoint !== null && chromium !== undefined;

/** @param before fills the table before its console opens */
export function browsedConsole(
  options: Partial<PageOptions> = {},
  before?: (its: Pick<Browsed, 'table' | 'tasks'>) => Promise<unknown>,
): Readonly<Browsed> {
  const its = {} as Browsed;
  beforeAll(async () => {
    its.table = await openCommandTable(endpoint ?? '');
    const connection = connectDynamo({ endpoint: its.table.endpoint }, systemRuntime);
    const sender = new Sender({ ...connection, runtime: systemRuntime, policy: PATIENT });
    its.tasks = createTaskStore(sender, { table: its.table.table, shards: CONSOLE_SHARDS });
    await before?.(its);
    its.running = await openConsole(its.table, options);
    its.browser = await launchBrowser(chromium ?? '');
  });
  afterAll(async () => {
    await its.browser.close();
    await its.running.close();
    closeCommandTable(its.table);
  });
  return its;
}

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
