import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const ENTRY = fileURLToPath(new URL('../support/tasks-modules/surrounded.ts', import.meta.url));

describe.skipIf(endpoint === null)('leasehold schedules', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  const run = (...argv: string[]) => runCommand(table, 'schedules', ...argv);
  const json = (text: string): unknown => JSON.parse(text);

  test('takes what enqueue takes; runs, pauses and resumes a schedule, each written to the audit log', async () => {
    const of = ['--queue', 'acts', '--by', 'ann'];
    const flags = ['--overlap', 'skip', '--timeout', '5m', '--key', 'k', '--rate', '10/1m', '--jitter', '30s'];
    const span = ['--start-at', '2027-01-31T08:00:00Z', '--end-at', '2027-02-02T00:00:00Z'];
    const defined = await run('define', 'daily', 'greet', ...of, '--cron', '0 9 * * *', ...flags, ...span, '--json');
    expect(json(defined.out)).toMatchObject({
      overlap: 'skip',
      jitterMs: 30_000,
      options: { timeout: 300_000, key: 'k', rate: { count: 10, per: 60_000 } },
    });

    const next = await run('next', 'daily', '--queue', 'acts', '--json');
    expect(json(next.out)).toMatchObject({ next: ['2027-01-31T09:00:00.000Z', '2027-02-01T09:00:00.000Z'] });

    expect(await run('run', 'daily', ...of)).toMatchObject({ exitCode: 0, err: '' });
    expect(await run('run', 'daily', ...of)).toMatchObject({
      exitCode: 1,
      out: 'schedule daily skipped this run: an earlier task of it has not ended\n',
    });
    expect((await run('pause', 'daily', ...of)).out).toContain('is paused: it skips its runs');
    expect((await run('list', '--queue', 'acts')).out).toContain('paused');
    expect((await run('next', 'daily', '--queue', 'acts')).out).toBe('the schedule is paused\n');
    expect((await run('resume', 'daily', ...of)).out).toContain('is active: next 2027-01-31');
    expect(await run('pause', 'other', ...of)).toMatchObject({ exitCode: 4 });

    const audit = await runCommand(table, 'audit', '--json');
    const acts = (json(audit.out) as { verb: string; target: string; outcome?: string }[])
      .filter(({ target }) => target.startsWith('acts/'))
      .map(({ verb, outcome }) => `${verb}: ${outcome?.replace(/@.*/, '') ?? ''}`);
    expect(acts.toReversed()).toEqual([
      'schedule.define: defined',
      'schedule.run: daily',
      'schedule.run: skipped',
      'schedule.pause: paused',
      'schedule.resume: resumed',
      'schedule.pause: gone',
    ]);
  });

  test('checks the task against the module that defines it, the input as JSON, and the cron expression', async () => {
    const define = (task: string, input: string, cron: string) =>
      run('define', 'n', task, input, '--cron', cron, '--entry', ENTRY);

    expect((await define('gret', 'null', '0 3 * * *')).err).toContain(
      'no task is named "gret": the module defines greet',
    );
    expect((await define('greet', '{', '0 3 * * *')).err).toContain('the input is not JSON');
    expect((await define('greet', '1', 'daily')).err).toContain('cron');
    expect((await run('list', '--json')).out.trim()).toBe('[]');
  });
});
