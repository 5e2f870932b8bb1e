/** The price of views, its payer, and the note on incomplete counts. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { defined } from '../../shared/core/defined.ts';
import type { TaskPage } from '../model.ts';
import type { RunningConsole } from '../server/server.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import type { ConsoleVisitor } from './support/console.ts';
import { CONSOLE_SHARDS, enter, firstNews, openConsole } from './support/console.ts';
import { PATIENT } from '../../test/support/patient.ts';
import { newTask, stamp } from '../../test/support/tasks.ts';

/** AWS's own emulator next to the embedded one: each counts units itself. */
const ENGINES = [
  { engine: 'embedded', endpoint: inject('embeddedEndpoint') },
  { engine: 'dynamodb-local', endpoint: inject('dynamodbLocalEndpoint') },
].filter(({ endpoint }) => endpoint !== null);
/** More than the counting limit, so a hundred thousand would cost the same. */
const TASKS = 4_000;
const FIRST_PAGE_UNITS = 50;
/** The next poll, and the next answer to a question, would come long after the test, even on a busy machine. */
const ONE_LOOK = { everyMs: 3_600_000 };

describe.each(ENGINES)('views of a long queue on $engine', ({ endpoint }) => {
  let table: CommandTable;
  let tasks: TaskStore;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    const sender = new Sender({
      ...connectDynamo({ endpoint: table.endpoint }, systemRuntime),
      runtime: systemRuntime,
      policy: PATIENT,
    });
    tasks = createTaskStore(sender, { table: table.table, shards: CONSOLE_SHARDS });
    for (let from = 0; from < TASKS; from += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          tasks.enqueue(newTask({ queue: 'default', id: `photos/2026/${from + n}.jpg`, runAt: from + n }), stamp()),
        ),
      );
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  async function opened(
    changes: Parameters<typeof openConsole>[1] = {},
  ): Promise<{ running: RunningConsole; visitor: ConsoleVisitor } & AsyncDisposable> {
    const running = await openConsole(table, changes);
    return { running, visitor: await enter(running), [Symbol.asyncDispose]: () => running.close() };
  }

  test('costs at most fifty read units for the first page, and shows that more follows', async () => {
    await using console = await opened(ONE_LOOK);

    const overview = await firstNews(console.visitor);

    const [queue] = overview.queues;
    expect(queue).toMatchObject({ queue: 'default', isMore: true, later: 0, running: 0 });
    expect(queue!.due.normal).toBeGreaterThan(200);
    expect(queue!.due.normal).toBeLessThan(TASKS);
    expect(console.running.readUnits()).toBeGreaterThan(5);
    expect(console.running.readUnits()).toBeLessThanOrEqual(FIRST_PAGE_UNITS);
  });

  test('costs at most fifty for a page of tasks, and continues from its end', async () => {
    await using console = await opened();
    const { running, visitor } = console;
    const page = async (after?: string): Promise<TaskPage> => {
      const query = new URLSearchParams({ queue: 'default', ...defined({ after }) });
      return (await (await visitor.get(`api/tasks?${query.toString()}`)).json()) as TaskPage;
    };

    const first = await page();
    expect(running.readUnits()).toBeLessThanOrEqual(FIRST_PAGE_UNITS);
    const second = await page(first.next);
    expect(running.readUnits()).toBeLessThanOrEqual(2 * FIRST_PAGE_UNITS);

    const ids = [...first.tasks, ...second.tasks].map(({ id }) => id);
    expect(first.tasks.length).toBeGreaterThanOrEqual(16);
    expect(new Set(ids).size).toBe(ids.length);
    const firstDue = first.tasks.map(({ readyAt = 0 }) => readyAt);
    expect(firstDue).toEqual(firstDue.toSorted((one, other) => one - other));
  });

  test('reads every task once when all pages are turned', async () => {
    for (let n = 0; n < 70; n++) await tasks.enqueue(newTask({ queue: 'short', id: `task ${n}` }), stamp());
    await using console = await opened();
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const query = new URLSearchParams({ queue: 'short', ...defined({ after }) });
      const page = (await (await console.visitor.get(`api/tasks?${query.toString()}`)).json()) as TaskPage;
      seen.push(...page.tasks.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);

    expect(seen).toHaveLength(70);
    expect(new Set(seen).size).toBe(70);
  });

  test('finds the tasks of tenants as well, and those in a line', async () => {
    for (const tenant of ['ann', 'bob'])
      await tasks.enqueue(newTask({ queue: 'shared', id: `of ${tenant}`, tenant }), stamp());
    await tasks.enqueue(newTask({ queue: 'shared', id: 'of eve', tenant: 'eve', line: 'customer' }), stamp());
    const running = await openConsole(table, { queues: ['shared'] });
    const visitor = await enter(running);

    const { queues } = await firstNews(visitor);
    expect(queues[0]).toMatchObject({ queue: 'shared', due: { high: 0, normal: 3, low: 0 }, isMore: false });
    const page = (await (await visitor.get('api/tasks?queue=shared')).json()) as TaskPage;
    expect(page.tasks.map(({ tenant }) => tenant).toSorted()).toEqual(['ann', 'bob', 'eve']);
    expect(page.tasks.filter(({ isInLine }) => isInLine).map(({ tenant }) => tenant)).toEqual(['eve']);
    expect(page.next).toBeUndefined();
    await running.close();
  });

  test('reports a missing table', async () => {
    const running = await openConsole({ endpoint: table.endpoint, table: 'nowhere' });
    const visitor = await enter(running);

    const response = await visitor.get('api/tasks?queue=default');

    expect(response.status).toBe(503);
    expect(await response.text()).toContain("create it with 'leasehold up'");
    await running.close();
  });
});
