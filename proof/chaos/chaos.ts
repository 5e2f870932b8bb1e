/**
 * Chaos on real processes: the real handlers on the local platform,
 * against DynamoDB Local through a faulty network, while a nemesis kills and freezes them.
 *
 *   npm run chaos -- --minutes 10 --seed 7
 *
 * Two arms meet the same faults: one goes through what the library ships,
 * the other is the positive control and does as people do without it.
 * Exit codes: 0 the promises were kept and the run counts, 1 one was broken,
 * or the run did too little to count, 2 a setting or the engine is wrong.
 */
import Table from 'cli-table3';
import { Command, Option } from 'commander';
import { liveText } from '../../local/live-text.ts';
import { startEngine } from '../../local/engine.ts';
import { engineOf, engineOption } from '../../local/engine-option.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { minutes, seed } from '../../test/support/arguments.ts';
import { PROFILES } from './profile.ts';
import type { ChaosResult, Progress } from './run.ts';
import { runChaos } from './run.ts';
import type { Violation } from './verdict.ts';
import { VIOLATIONS } from './verdict.ts';

interface Flags {
  readonly minutes: number;
  readonly seed: bigint;
  readonly profile: string;
  readonly engine: string;
  readonly json: boolean;
}

const PLAIN_EVERY_MS = 5_000;
const CASES_SHOWN = 5;

const command = new Command('npm run chaos --')
  .description('Torments real workers and judges what became of their promises.')
  .option('--minutes <n>', 'how long', minutes, 2)
  .addOption(
    new Option('--seed <n>', 'which faults; processes and networks have their own timing, so a run is alike, not equal')
      .argParser(seed)
      .default(1n, '1'),
  )
  .addOption(
    new Option('--profile <name>', 'how far clocks go wrong')
      .choices(PROFILES.map(({ name }) => name))
      .default('within-bound'),
  )
  .addOption(engineOption().default('dynamodb-local'))
  .option('--json', 'print one JSON object as the last line', false);

async function main(flags: Flags): Promise<number> {
  const profile = PROFILES.find(({ name }) => name === flags.profile)!;
  const stop = new AbortController();
  process.once('SIGINT', () => {
    stop.abort();
  });
  const engine = await startEngine(engineOf(flags.engine));
  const progress = createProgress(flags.minutes);
  try {
    const { endpoint } = engine;
    const result = await runChaos({
      ...flags,
      endpoint,
      profile,
      onProgress: (seen) => progress.show(seen),
      stop: stop.signal,
    });
    progress.end();
    console.log(report(result));
    if (flags.json) console.log(JSON.stringify({ seed: String(flags.seed), profile: profile.name, ...result }));
    return result.kept ? 0 : 1;
  } finally {
    progress.end();
    await engine.stop();
  }
}

function report(result: ChaosResult): string {
  const table = new Table({ head: ['', ''], style: { head: [], border: [] } });
  for (const [name, value] of Object.entries(result.figures)) table.push([words(name), String(value)]);
  table.push(['seconds until healed', result.healedSeconds === null ? 'NEVER' : String(result.healedSeconds)]);
  for (const [name, cases] of Object.entries(result.violations))
    table.push([VIOLATIONS[name as Violation], String(cases.length)]);
  table.push(['control: double effects', String(result.control.doubleEffects)]);
  const { lostUpdates, acknowledgedUpdates } = result.control;
  table.push(['control: acknowledged updates lost', `${lostUpdates} of ${acknowledgedUpdates}`]);
  const cases = Object.entries(result.violations).flatMap(([name, list]) =>
    list.slice(0, CASES_SHOWN).map((text) => `VIOLATED ${VIOLATIONS[name as Violation]}: ${text}`),
  );
  const shortfalls = result.shortfalls.map((text) => `TOO LITTLE ${text}`);
  const counts = (title: string, record: Readonly<Record<string, number>>): string =>
    `${title}: ${Object.entries(record)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`;
  return [
    table.toString(),
    counts('faults', result.faults),
    counts('errors', result.errors),
    ...cases,
    ...shortfalls,
    result.kept ? 'Nothing was lost, doubled or promised in vain; the control lost.' : 'THE RUN FAILED: see above.',
  ].join('\n');
}

function createProgress(minutes: number) {
  const live = process.stderr.isTTY ? liveText(process.stderr) : undefined;
  let lastAt = -Infinity;
  return {
    show(progress: Progress): void {
      const { phase, elapsedMs, tasks, open, processFaults, ambiguousOutcomes, takeovers } = progress;
      const line =
        `${phase} ${(elapsedMs / 1_000).toFixed(0)} s of ${(minutes * 60).toFixed(0)} s: ${tasks} tasks, ${open} open, ` +
        `${takeovers} taken over, ${processFaults} process faults, ${ambiguousOutcomes} ambiguous outcomes`;
      if (live !== undefined) live.show(line);
      else if (elapsedMs - lastAt >= PLAIN_EVERY_MS) {
        lastAt = elapsedMs;
        process.stderr.write(`${line}\n`);
      }
    },
    end(): void {
      live?.end();
    },
  };
}

/** `processFaults` as people write it. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

try {
  process.exitCode = await main(command.parse().opts<Flags>());
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(`error: ${error.message}`);
  process.exitCode = 2;
}
