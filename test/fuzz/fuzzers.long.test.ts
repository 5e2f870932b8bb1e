/**
 * Hostile rows, requests and command lines, drawn for as long as `FUZZ_SECONDS` says, ten minutes each by default: none leads to a crash, to
 * a stack for the caller, or to memory that grows.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { enter, openConsole } from '../../console/test/support/console.ts';
import { openMemoryGateway } from '../../consul/test/memory-gateway.ts';
import { startEngine } from '../../local/engine.ts';
import { runCommand } from '../support/command.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { complaintAbout } from './beside-poison.ts';
import { hostileStrings } from './hostile-strings.ts';
import { poison } from './poison.ts';

const SECONDS = Number(process.env.FUZZ_SECONDS ?? 600);
/** Rounds are drawn by their number, from here: `FUZZ_SEED`. */
const SEED = Number(process.env.FUZZ_SEED ?? 0);
const GROWTH_BYTES = 150_000_000;
const CASES_A_ROUND = 50;
const STACK = /\n\s+at |TypeError|RangeError|Cannot read|is not a function|InvariantError/;

const words = fc.constantFrom(...hostileStrings(200, 1));
const queries = fc.dictionary(
  fc.constantFrom('queue', 'id', 'after', 'state', 'name', 'dc', 'recurse', 'keys', 'cas', 'acquire', 'ns', 'limit'),
  words,
  { maxKeys: 3 },
);
const bodies = fc.oneof(fc.constant(undefined), words, fc.json());
const pathOf = (path: string, query: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(query).toString()}`;

/** Draws cases, round by round, until the time is up. */
async function fuzz<Case>(
  cases: fc.Arbitrary<Case>,
  openRound: () =>
    | Promise<(drawn: Case) => Promise<string | undefined>>
    | ((drawn: Case) => Promise<string | undefined>),
): Promise<void> {
  const until = performance.now() + SECONDS * 1_000;
  const heaps: number[] = [];
  const wrong: string[] = [];
  for (let round = 1; performance.now() < until && wrong.length === 0; round++) {
    const complain = await openRound();
    for (const drawn of fc.sample(cases, { numRuns: CASES_A_ROUND, seed: SEED + round })) {
      const complaint = await complain(drawn).catch((error: unknown) => `it threw ${String(error)}`);
      if (complaint !== undefined)
        wrong.push(`round ${SEED + round}, ${JSON.stringify(drawn).slice(0, 500)}: ${complaint.slice(0, 500)}`);
    }
    heaps.push(process.memoryUsage().heapUsed);
    // Some cases need only microtasks, and a process without a turn of its loop is ended because it seems to spin.
    await nextTurn();
  }
  expect(wrong).toEqual([]);
  expect(heaps.length).toBeGreaterThan(1);
  // The collector runs when it likes: the least of each half.
  const [early, late] = [heaps.slice(0, heaps.length / 2), heaps.slice(heaps.length / 2)];
  expect(Math.min(...late) - Math.min(...early)).toBeLessThan(GROWTH_BYTES);
}

const complaintOfAnswer = (status: number, text: string): string | undefined =>
  status >= 500 || STACK.test(text) ? `${status}: ${text}` : undefined;

test('rows', () => fuzz(poison, () => complaintAbout));

test('the gateway of Consul', () => {
  const paths = ['session/create', 'session/destroy/', 'session/renew/', 'session/info/', 'session/list', 'kv/', 'txn'];
  const more = ['agent/check/register', 'agent/check/update/', 'catalog/register', 'catalog/node/', 'health/node/', ''];
  const asked = fc.tuple(
    fc.constantFrom('GET', 'PUT', 'DELETE', 'POST'),
    fc.constantFrom(...paths, ...more),
    words,
    queries,
    bodies,
  );
  return fuzz(asked, () => {
    const { ask, failures } = openMemoryGateway();
    return async ([method, path, name, query, body]) => {
      const target = pathOf(path.endsWith('/') ? path + encodeURIComponent(name.toWellFormed()) : path, query);
      const { status, text } = await ask(method, target, method === 'GET' ? undefined : body);
      if (failures.length > 0) return `a failure: ${String(failures[0])}`;
      // Consul itself answers some bad input with 500.
      return complaintOfAnswer(Math.min(status, 499), text);
    };
  });
});

test('the console', async () => {
  const engine = await startEngine({ kind: 'memory', isBare: true });
  const table = await openCommandTable(engine.endpoint);
  const running = await openConsole(table);
  const visitor = await enter(running);
  const paths = ['tasks', 'dead', 'finished', 'task', 'locks', 'semaphores', 'sessions', 'schedules', 'audit', 'names'];
  const verbs = ['task.cancel', 'task.retry', 'queue.pause', 'queue.retry', 'task.enqueue', 'lock.release', 'x'];
  const fieldsOf = fc.dictionary(
    fc.constantFrom('queue', 'id', 'reason', 'name', 'input', 'leaseCounter'),
    fc.jsonValue(),
  );
  const asked = fc.tuple(fc.constantFrom(...paths), queries, fc.constantFrom(...verbs), fieldsOf, fc.boolean());
  await fuzz(asked, () => async ([path, query, verb, fields, isAct]) => {
    const act = { verb, reason: 'a drill', ...fields };
    const response = await (isAct ? visitor.act(act) : visitor.get(pathOf(`api/${path}`, query)));
    return complaintOfAnswer(response.status, await response.text());
  });
  await running.close();
  closeCommandTable(table);
  await engine.stop();
});

test('the command line', async () => {
  const engine = await startEngine({ kind: 'memory', isBare: true });
  const table = await openCommandTable(engine.endpoint);
  const nouns = ['tasks', 'queues', 'keys', 'locks', 'semaphores', 'sessions', 'schedules', 'audit', 'enqueue', 'x'];
  const verbs = [
    'list',
    'show',
    'stats',
    'pause',
    'resume',
    'cancel',
    'retry',
    'next',
    'recount',
    'remove',
    'limit',
    '',
  ];
  const flags = [
    '--queue',
    '--json',
    '--limit',
    '--reason',
    '--yes',
    '--tenant',
    '--delay',
    '--shards',
    '--cron',
    '-1',
  ];
  const argv = fc.tuple(
    fc.constantFrom(...nouns),
    fc.constantFrom(...verbs),
    fc.array(fc.oneof(fc.constantFrom(...flags), words), { maxLength: 5 }),
  );
  await fuzz(argv, () => async ([noun, verb, rest]) => {
    const { exitCode, out, err } = await runCommand(table, noun, ...(verb === '' ? [] : [verb]), ...rest);
    return exitCode === null || STACK.test(out) || STACK.test(err) ? `${exitCode}: ${out}${err}` : undefined;
  });
  closeCommandTable(table);
  await engine.stop();
});
