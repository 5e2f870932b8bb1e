/** The cost of a verb when many callers meet one row: requests and units of a caller, and when the last one has succeeded. */
import { Command } from 'commander';
import { wholeNumbers } from './arguments.ts';
import { drains } from './crowd/drains.ts';
import type { Measured } from './crowd/measure.ts';
import { measure } from './crowd/measure.ts';
import { SCENES } from './crowd/scenes.ts';
import { print } from './figures.ts';

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
  print({ callers: rows, workers: ended }, json);
  return rows.every(({ errors }) => errors.length === 0) ? 0 : 1;
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- crowd')
    .description('Many callers of one row, in one process, in eight, and in one each, in simulated time.')
    .option('--callers <list>', 'how many', wholeNumbers, [1, 10, 100, 300])
    .option('--json', 'as JSON')
    .parse(argv, { from: 'user' })
    .opts<Settings>();
}
