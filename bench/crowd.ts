/** The cost of a verb when many callers meet one row: requests and units of a caller, and when the last one has succeeded. */
import { Command } from 'commander';
import { wholeNumbers } from './arguments.ts';
import type { Ended } from './crowd/drains.ts';
import { drains } from './crowd/drains.ts';
import type { Measured } from './crowd/measure.ts';
import { measure } from './crowd/measure.ts';
import { SCENES } from './crowd/scenes.ts';
import { round, tableOf } from './figures.ts';

interface Settings {
  readonly callers: readonly number[];
  readonly json?: boolean;
}

const PROCESSES = [1, 8];

export async function run(argv: readonly string[]): Promise<number> {
  const { callers, json } = parse(argv);
  const rows: Measured[] = [];
  for (const scene of SCENES)
    for (const many of callers)
      for (const processes of [...PROCESSES.filter((few) => few < many), many])
        rows.push(await measure(scene, { callers: many, processes, isStrict: true }));
  const ended = await drains();
  console.log(
    json === true
      ? JSON.stringify({ callers: rows, workers: ended })
      : `${tableOfCallers(rows)}\n${tableOfEnds(ended)}`,
  );
  return rows.every(({ errors }) => errors.length === 0) ? 0 : 1;
}

function tableOfCallers(rows: readonly Measured[]): string {
  return tableOf(
    ['verb', 'callers', 'processes', 'requests', 'write units', 'read units', 'last, ms', 'errors'],
    rows.map(({ scene, requests, writeUnits, readUnits, errors, ...row }) => [
      scene,
      row.callers,
      row.processes,
      round(requests),
      round(writeUnits),
      round(readUnits),
      row.lastMs,
      errors.length,
    ]),
  );
}

function tableOfEnds(ended: readonly Ended[]): string {
  return tableOf(
    ['tasks that workers end', 'tasks', 'workers', 'a second', 'write units', 'read units'],
    ended.map(({ what, tasks, workers, perSecond, writeUnits, readUnits }) => [
      what,
      tasks,
      workers,
      perSecond,
      writeUnits,
      readUnits,
    ]),
  );
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- crowd')
    .description('Many callers of one row, in one process, in eight, and in one each, in simulated time.')
    .option('--callers <list>', 'how many', wholeNumbers, [1, 10, 100, 300])
    .option('--json', 'as JSON')
    .parse(argv, { from: 'user' })
    .opts<Settings>();
}
