/** Every page at two widths, in light and dark: stored as pictures, and checked for faults. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { browsedConsole, canBrowse, openPage } from './support/console-page.ts';
import type { Scene } from './support/console-scene.ts';
import { stageScene } from './support/console-scene.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../.leasehold/screenshots');

interface Shot {
  readonly hash: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

const PAGES: Readonly<Record<string, Shot>> = {
  overview: {
    hash: '#/overview',
    // A plot of one reading is none.
    prepare: (page) =>
      expect
        .poll(async () => (await page.locator('.plot .line').first().getAttribute('points'))?.split(' ').length ?? 0)
        .toBeGreaterThan(4),
  },
  queues: { hash: '#/queues', prepare: (page) => page.locator('tbody tr').nth(1).waitFor() },
  tasks: { hash: '#/tasks?queue=default' },
  'tasks-dead': { hash: '#/tasks?queue=default&state=dead' },
  'tasks-finished': { hash: '#/tasks?queue=default&state=finished' },
  'tasks-empty': { hash: '#/tasks?queue=nothing' },
  task: { hash: '#/task?queue=default&id=troubled' },
  'task-missing': { hash: '#/task?queue=default&id=nobody' },
  sessions: { hash: '#/sessions' },
  locks: { hash: '#/locks' },
  dialog: {
    hash: '#/locks?prefix=reports',
    prepare: (page) =>
      page
        .getByRole('button', { name: /^Force release…/ })
        .first()
        .click(),
  },
  semaphores: {
    hash: '#/semaphores',
    prepare: (page) => page.locator('section.card', { hasText: 'workers/default' }).locator('summary').first().click(),
  },
  schedules: { hash: '#/schedules' },
  audit: { hash: '#/audit' },
};

const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

describe.skipIf(!canBrowse)('the pages of the console', () => {
  let scene: Scene;
  const its = browsedConsole({ queues: ['default', 'media'] }, async ({ table }) => {
    mkdirSync(FOLDER, { recursive: true });
    scene = await stageScene(table);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.each(Object.entries(PAGES))(
    'fit on desktop and phone, in light and dark: %s',
    async (name, { hash, prepare }) => {
      await using opened = await openPage(its.browser, its.running.invite(), { reducedMotion: 'reduce' });
      const { page, complaints } = opened;
      await page.goto(`${its.running.address}${hash}`);
      await page.locator('main:not([aria-busy]) :is(h1, .empty)').first().waitFor();
      await prepare?.(page);
      for (const [size, viewport] of Object.entries(SIZES))
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme });
          await page.screenshot({ path: path.join(FOLDER, `${name}-${size}-${colorScheme}.png`), fullPage: true });
          expect(await page.evaluate('document.documentElement.scrollWidth'), size).toBeLessThanOrEqual(viewport.width);
        }
      expect(await page.locator('main img, main script').count()).toBe(0);
      // The browser itself reports a missing task.
      expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
    },
  );
});
