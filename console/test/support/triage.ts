/** Many dead tasks in groups, on wide and narrow screens, read in steps. */
import { describe, expect, test } from 'vitest';
import { ConsoleConnection } from '../../server/connection.ts';
import { DeadReader } from '../../server/views/dead.ts';
import { KnownNames } from '../../server/views/known-names.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { claimed, stamp } from '../../../test/support/tasks.ts';
import { browsedConsole, canBrowse, openOn } from './console-page.ts';
import { CONSOLE_SHARDS } from './console.ts';

const AT_A_TIME = 100;
const GROUPS = 4;
const SIZES = [
  { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  { viewport: { width: 400, height: 860 }, colorScheme: 'light' },
] as const;

/** @param count a multiple of a hundred */
export function describeTriageOf(count: number): void {
  const whole = (n: number): string => n.toLocaleString('en-US');
  const each = count / GROUPS;

  describe.skipIf(!canBrowse)(`the triage of ${count} dead tasks`, () => {
    const its = browsedConsole({}, async ({ tasks }) => {
      for (let from = 0; from < count; from += AT_A_TIME)
        await Promise.all(
          Array.from({ length: AT_A_TIME }, async (_, n) => {
            const kind = (from + n) % GROUPS;
            const key = { queue: 'many', id: `task-${from + n}`, name: `kind-${kind}` };
            const error = { name: 'Error', message: `row ${from + n} of step ${kind} is missing`, at: 1 };
            await tasks.discard(await claimed(tasks, 'somebody', key), error, stamp());
          }),
        );
    });

    test.each(SIZES)('fits a screen of $viewport.width', async (size) => {
      await using opened = await openOn(its.browser, its.running, 'tasks?queue=many&state=dead', size);
      const { page } = opened;
      await page.getByText(`${whole(count)} dead tasks in ${GROUPS} groups`).waitFor();
      expect(await page.getByRole('button', { name: new RegExp(`^Retry ${whole(each)}…`) }).count()).toBe(GROUPS);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.viewport.width);

      // A whole id leads to its task, and the start of a name to an address that says it.
      await page.getByLabel('Id, or its start').fill('task-99');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'task-99', exact: true }).waitFor();
      await page.goBack();
      await page.getByLabel('Name, or its start').fill('kind-3');
      await page.keyboard.press('Enter');
      await page.getByText(`${whole(each)} dead tasks in 1 group`).waitFor();
      expect(page.url()).toContain('state=dead&name=kind-3');
      expect(opened.complaints).toEqual([]);
    });

    test('reads in priced steps, until every dead task is in a group', async () => {
      const settings = { maxClockSkewMs: 1_000, queues: [], isReadOnly: true, by: 'ann', shards: CONSOLE_SHARDS };
      const { table, endpoint } = its.table;
      using connection = new ConsoleConnection({ table, endpoint, ...settings }, systemRuntime);
      const dead = new DeadReader(connection, new KnownNames());
      const query = { queue: 'many', name: '', id: '', fault: undefined };
      const first = await dead.read({ ...query, isWhole: false });
      expect(first.units).toBeLessThanOrEqual(50);
      expect(first.value.read).toBeGreaterThan(0);
      expect(first.value.read).toBeLessThan(count);

      const second = await dead.read({ ...query, isWhole: false });
      expect(second.units).toBeLessThanOrEqual(50);
      expect(second.value.read).toBeGreaterThan(first.value.read);

      const { value } = await dead.read({ ...query, isWhole: true });
      expect(value).toMatchObject({ listed: { count, isMore: false }, read: count, unitsLeft: 0 });
      expect(value.groups.map((group) => group.count)).toEqual(Array.from({ length: GROUPS }, () => each));
    });
  });
}
