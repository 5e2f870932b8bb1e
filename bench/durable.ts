/**
 * Cost and speed of durable tasks: write units of each thing that their code may do, the time of a step relative to
 * `saveProgress`, and the time from an answer to the next line, modelled. Exits with 1 if a figure exceeds its target.
 */
import { Command } from 'commander';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import { ANSWER_SCENES, measureAnswers } from './durable/answers.ts';
import { measureSteps } from './durable/steps.ts';
import { PLAIN_UNITS, UNITS_SCENES, unitsOfEach, unitsOfPlainTask } from './durable/units.ts';
import { median, print, round } from './figures.ts';
import { LATENCIES, describeLatencies } from './latencies.ts';

interface Settings {
  readonly steps: number;
  readonly rounds: number;
  readonly tasks: number;
  readonly engine: BenchEngine;
  readonly json?: boolean;
}

interface Figure {
  readonly what: string;
  readonly value: number;
  readonly wanted: number;
  readonly beside?: string;
}

/** How much longer than a `saveProgress` a step may take, and how much later than a start the code continues. */
const STEP_RATIO = 1.3;
const ANSWER_MS = 50;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const figures = [...(await units()), await stepTime(settings), ...(await answers(settings))];
  const judged = figures.map((figure) => ({ ...figure, isMet: isMet(figure) }));
  print({ figures: judged, latencies: describeLatencies(LATENCIES) }, settings.json);
  return figures.every(isMet) ? 0 : 1;
}

function isMet({ value, wanted }: Figure): boolean {
  return value <= wanted;
}

async function units(): Promise<readonly Figure[]> {
  const figures: Figure[] = [{ what: 'units of a plain task', value: await unitsOfPlainTask(), wanted: PLAIN_UNITS }];
  for (const scene of UNITS_SCENES) {
    const value = round(await unitsOfEach(scene));
    figures.push({ what: `units of ${scene.name}, ${scene.count} of them`, value, wanted: scene.wanted });
  }
  return figures;
}

async function stepTime({ engine, steps, rounds }: Settings): Promise<Figure> {
  const times = await measureSteps(engine, steps, rounds);
  const ratios = times.map(({ step, progress }) => step / progress);
  const shown = (name: 'step' | 'progress'): string => spread(times.map((each) => each[name]));
  return {
    what: 'time of a step / of a saveProgress',
    value: round(median(ratios)),
    wanted: STEP_RATIO,
    beside: `ratio ${spread(ratios)}; ms ${shown('step')} and ${shown('progress')}`,
  };
}

function spread(values: readonly number[]): string {
  return `${round(median(values))} (${round(Math.min(...values))} to ${round(Math.max(...values))})`;
}

async function answers({ tasks }: Settings): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const scene of ANSWER_SCENES) {
    const { start, answer, wait, billedOfWait } = await measureAnswers(scene, tasks, LATENCIES);
    const beside = `p50 of ${tasks}; enqueue to start ${start}`;
    const where = scene === 'cold' ? 'cold' : 'beside a live worker';
    figures.push({
      what: `ms from an answer to the next line, ${where}`,
      value: answer,
      wanted: start + ANSWER_MS,
      beside,
    });
    const billed = `p50 of ${tasks}; workers run for ${billedOfWait} ms each`;
    figures.push({
      what: `ms from the end of a wait of 5 s to the next line, ${where}`,
      value: wait,
      wanted: start + ANSWER_MS,
      beside: billed,
    });
  }
  return figures;
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- durable')
    .option('--steps <n>', 'steps of a round', wholeNumber(1), 200)
    .option('--rounds <n>', 'rounds that count', wholeNumber(1), 5)
    .option('--tasks <n>', 'callbacks in each scene, and starts beside them', wholeNumber(1), 300)
    .addOption(engineOption())
    .option('--json', 'the figures as one JSON object, as the last line')
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
}
