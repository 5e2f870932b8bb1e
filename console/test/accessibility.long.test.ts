/** Every page and dialog, held to axe-core's rules: WCAG 2.2 A and AA, and its best practices. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { browsedConsole, canBrowse, openPage, visit } from './support/console-page.ts';
import type { Scene } from './support/console-scene.ts';
import { stageScene } from './support/console-scene.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

const press = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', { name }).first().click();
  await page.getByRole('dialog').waitFor();
};
const expand = async (page: Page) => {
  for (const summary of await page.locator('main summary').all()) await summary.click();
};

const PLACES: Readonly<Record<string, { readonly hash: string; readonly prepare?: (page: Page) => Promise<void> }>> = {
  overview: { hash: 'overview' },
  queues: { hash: 'queues' },
  'queues, opened': { hash: 'queues', prepare: expand },
  tasks: { hash: 'tasks?queue=default' },
  'tasks, running': { hash: 'tasks?queue=default&state=running' },
  'tasks, none': { hash: 'tasks?queue=nothing' },
  dead: { hash: 'tasks?queue=default&state=dead' },
  'dead, opened': { hash: 'tasks?queue=default&state=dead', prepare: expand },
  finished: { hash: 'tasks?queue=default&state=finished' },
  'finished, listed': { hash: 'tasks?queue=orders&state=finished' },
  task: { hash: 'task?queue=default&id=troubled' },
  'task that has ended': { hash: 'task?queue=orders&id=charge%2Fo-3' },
  'task that is missing': { hash: 'task?queue=default&id=nobody' },
  sessions: { hash: 'sessions' },
  'sessions, opened': { hash: 'sessions', prepare: expand },
  locks: { hash: 'locks' },
  semaphores: { hash: 'semaphores', prepare: expand },
  schedules: { hash: 'schedules' },
  audit: { hash: 'audit' },
  'keys and times': { hash: 'overview', prepare: press('Keys and times') },
  'a new task': { hash: 'tasks?queue=default', prepare: press('New task…') },
  'a pause': { hash: 'queues', prepare: press(/^Pause…/) },
  'a retry of a group': { hash: 'tasks?queue=default&state=dead', prepare: press(/^Retry/) },
  'a forced release': { hash: 'locks', prepare: press(/^Force release…/) },
  'a destroyed session': { hash: 'sessions', prepare: press(/^Destroy…/) },
};
const SIZES = [
  { width: 1280, height: 900 },
  { width: 400, height: 860 },
];

describe.skipIf(!canBrowse)('axe-core finds nothing', () => {
  let scene: Scene;
  const its = browsedConsole({ queues: ['default', 'media'] }, async ({ table }) => {
    scene = await stageScene(table);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  async function violations(page: Page): Promise<readonly string[]> {
    const { passes, violations: found } = await page.evaluate<AxeResults>('axe.run()');
    // The check really tested something.
    expect(passes.length).toBeGreaterThan(10);
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
    );
  }

  test.each(Object.entries(PLACES))('on: %s', async (_, { hash, prepare }) => {
    // The page's own policy forbids scripts from elsewhere, which is what the tool is.
    await using opened = await openPage(its.browser, its.running.invite(), {
      reducedMotion: 'reduce',
      bypassCSP: true,
    });
    const { page } = opened;
    await visit(page, hash);
    await page.locator('#bar .feed.live').waitFor();
    await prepare?.(page);
    await page.evaluate(AXE);
    for (const viewport of SIZES)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        expect(await violations(page), `${viewport.width} ${colorScheme}`).toEqual([]);
      }
  });

  test('finds nothing on the access page', async () => {
    await using opened = await openPage(its.browser, its.running.address, { bypassCSP: true });
    await opened.page.evaluate(AXE);
    expect(await violations(opened.page)).toEqual([]);
  });
});
