/** `leasehold cost` sends no request: it needs no table, no credentials and no network. */
import { describe, expect, test } from 'vitest';
import { PRICES } from '../../shared/operate/cost/prices.ts';
import { runHere } from '../support/command.ts';

const cost = (...argv: readonly string[]) => runHere(['cost', ...argv]);

describe('leasehold cost', () => {
  test('prints units, each part of the bill with its price and date, other services, and which limit is met first', async () => {
    const { exitCode, out } = await cost('--tasks-per-day', '1e6', '--seconds-per-task', '2');

    expect(exitCode).toBe(0);
    expect(out).toMatch(/^a task: 5\.02 write units, 0\.6 read units$/m);
    expect(out).toMatch(/^tasks: enqueue, claim, complete +151M write units +\$0\.625 a million +\$94\.13 +\$94\.13$/m);
    expect(out).toContain(`List prices of ${PRICES.region}, read in ${PRICES.of.writes.asOf}; * not looked up`);
    expect(out).toMatch(/^alarms of the queue +\d+ metrics +\$0\.1 each \* +\$\d\.\d\d +\$\d\.\d\d$/m);
    expect(out).toMatch(/^each further one +\$\d\.\d\d/m);
    expect(out).toMatch(/^Step Functions Standard and Lambda +\$\d/m);
    expect(out).toMatch(
      /^1K tasks at once +start 10 workers, and 10 more if maxWorkers allowed it; the last task begins 18 s /m,
    );
    expect(out).toMatch(/^THE QUEUE ITSELF, A MONTH +EMPTY +A TASK A MINUTE +1M TASKS A DAY$/m);
    expect(out).toMatch(/^wakes +\$0\.00 +\$\d/m);
    expect(out).toMatch(/^workers needed +4, with 10 tasks at once in each$/m);
    expect(out).toMatch(/^shards needed +1$/m);
    expect(out).toMatch(/^the first to bite: maxWorkers = 10, at .* tasks a day; then raise maxWorkers/m);
  });

  test('adds what a durable task records', async () => {
    const { out } = await cost('--steps', '5', '--waits', '1', '--callbacks', '1');

    expect(out).toMatch(/^a task: 25 write units/m);
    expect(out).toMatch(/^callback +7 +4 +11$/m);
  });

  test('answers programs with all figures', async () => {
    const { out } = await cost('--concurrency', '16', '--json');

    expect(JSON.parse(out)).toMatchObject({
      workload: { concurrency: 16 },
      verbs: { enqueue: { total: 2 } },
      prices: PRICES,
    });
  });

  test('leaves out what is switched off, and adds X-Ray if it is on', async () => {
    const whats = async (...argv: readonly string[]): Promise<string[]> => {
      const { out } = await cost(...argv, '--json');
      return (JSON.parse(out) as { parts: { what: string }[] }).parts.map(({ what }) => what);
    };

    const all = await whats('--tracing');
    expect(all).toEqual(expect.arrayContaining(['alarms of the queue', 'dashboard, once a table', 'X-Ray traces']));
    const few = await whats('--no-alarms', '--no-dashboard');
    expect(few.filter((what) => /alarm|dashboard|X-Ray/.test(what))).toEqual([]);
  });

  test.each([
    [['--shards', '0'], '--shards'],
    [['--shards', 'many'], '--shards'],
    [['--tasks-per-day', '-5'], '--tasks-per-day'],
    [['--deflated-share', '2'], 'deflatedShare = 2: must be from 0.001 to 1'],
    [['--refused-commits-per-task', '0.1'], 'refusedCommitsPerTask = 0.1: must be 0, because commitItems = 0'],
    [['--architecture', 'mips'], '--architecture'],
  ])('refuses %j', async (argv, message) => {
    const { exitCode, err } = await cost(...argv);

    expect(exitCode).toBe(2);
    expect(err).toContain(message);
  });
});
