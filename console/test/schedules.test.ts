/** The console's page of schedules. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import type { SchedulePage } from '../model.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { scheduleKey } from '../../shared/dynamo/engine/keys.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import { enter, openConsole } from './support/console.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the page of schedules', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('shows no times from before a schedule was defined', async () => {
    await schedulesOf(table.leasehold).define('newborn', 'report', {}, { cron: '* * * * *' });
    const running = await openConsole(table);
    await using _console = { [Symbol.asyncDispose]: () => running.close() };
    const begun = Date.now();

    const page = (await (await (await enter(running)).get('api/schedules')).json()) as
      | SchedulePage
      | { readonly value: SchedulePage };

    const { schedules } = 'value' in page ? page.value : page;
    const occurrences = schedules.find(({ name }) => name === 'newborn')?.occurrences ?? [];
    expect(occurrences.length).toBeGreaterThan(0);
    expect(occurrences.filter(({ at }) => at < begun - 60_000)).toEqual([]);
    await schedulesOf(table.leasehold).remove('newborn');
  });

  test('shows a schedule whose zone this machine does not know, without its times, and the others as they are', async () => {
    const schedules = schedulesOf(table.leasehold);
    for (const name of ['odd', 'sound']) await schedules.define(name, 'report', {}, { cron: '0 0 1 1 *' });
    const connection = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    await connection.driver.attempt(
      'update',
      {
        TableName: table.table,
        Key: { ...scheduleKey('default', 'odd') },
        UpdateExpression: 'SET #zone = :zone',
        ExpressionAttributeNames: { '#zone': 'zone' },
        ExpressionAttributeValues: { ':zone': 'Mars/Olympus' },
      },
      new AbortController().signal,
    );
    connection.close();
    const running = await openConsole(table);
    await using _console = { [Symbol.asyncDispose]: () => running.close() };

    const response = await (await enter(running)).get('api/schedules');

    expect(response.status).toBe(200);
    const page = (await response.json()) as SchedulePage | { readonly value: SchedulePage };
    const lines = ('value' in page ? page.value : page).schedules;
    expect(lines.map(({ name, zone, occurrences }) => [name, zone, occurrences.length > 0])).toEqual([
      ['odd', 'Mars/Olympus', false],
      ['sound', 'UTC', true],
    ]);
  });
});
