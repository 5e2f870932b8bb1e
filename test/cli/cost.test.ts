/** `leasehold cost` sends no request: it needs no table, no credentials and no network. */
import { describe, expect, test } from 'vitest';
import { PRICES } from '../../shared/operate/cost/prices.ts';
import { runHere } from '../support/command.ts';

const cost = (...argv: readonly string[]) => runHere(['cost', ...argv]);

describe('leasehold cost', () => {
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
