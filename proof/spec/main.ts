/**
 * `npm run spec [-- --models NAME...] [--larger] [--switches [NAME...]] [--digest] [--json] [--jar FILE]`
 *
 * Exhausts the models, or with `--larger` the larger ones, which take minutes each; with `--switches` it shows that each way of breaking
 * the protocol is found.
 * Without Java or the checker it prints the reason and succeeds; with CI=true it fails, because a pipeline must not check less than it
 * claims.
 */
import Table from 'cli-table3';
import { Command, Option } from 'commander';
import type { ModelReport } from './check.ts';
import { checkModel } from './check.ts';
import { LARGER } from './larger.ts';
import type { Model } from './models.ts';
import { MODELS, configOf } from './models.ts';
import type { Tlc } from './tlc.ts';
import { REDUNDANT } from './redundant.ts';
import type { Switch } from './switches.ts';
import { SWITCHES } from './switches.ts';
import { findTlc, runTlc } from './tlc.ts';
import { disagreements, writeDigests } from './verbs.ts';

interface Flags {
  readonly models?: readonly string[] | true;
  readonly larger: boolean;
  readonly switches?: readonly string[] | true;
  readonly digest: boolean;
  readonly json: boolean;
  readonly jar?: string;
}

const command = new Command('npm run spec --')
  .description('Checks the specification of the protocol.')
  .option('--models [names...]', `these of ${[...MODELS, ...LARGER].map(({ name }) => name).join(', ')}`)
  .addOption(
    new Option('--larger', 'the larger models, minutes each, instead of the small ones')
      .default(false)
      .conflicts(['models', 'switches']),
  )
  .option('--switches [names...]', 'instead, break the protocol on purpose, rule by rule')
  .option('--digest', 'declare the operators to be right for the statements as they are', false)
  .option('--json', 'one JSON object at the end', false)
  .option('--jar <file>', 'a jar of TLC that is here already');

async function main(flags: Flags): Promise<number> {
  if (flags.digest) writeDigests();
  const differences = disagreements();
  for (const difference of differences) console.log(difference);
  if (flags.digest || differences.length > 0) return differences.length === 0 ? 0 : 1;
  const tlc = findTlc(flags.jar);
  if (typeof tlc === 'string') {
    console.log(`skipped: ${tlc}`);
    return process.env.CI === 'true' ? 1 : 0;
  }
  if (flags.switches !== undefined) return checkSwitches(tlc, switchesOf(flags.switches), flags.json);
  const models = await checkModels(tlc, modelsOf(flags));
  if (flags.json) console.log(JSON.stringify({ models }));
  return models.every(({ end, dead }) => end === 'exhausted' && dead.length === 0) ? 0 : 1;
}

function modelsOf({ models: names, larger }: Flags): readonly Model[] {
  if (names === undefined || names === true) return larger ? LARGER : MODELS;
  const all = [...MODELS, ...LARGER];
  const unknown = names.find((wanted) => all.every(({ name }) => name !== wanted));
  if (unknown !== undefined) command.error(`error: there is no ${unknown}`, { exitCode: 2 });
  return all.filter(({ name }) => names.includes(name));
}

function switchesOf(names: readonly string[] | true): readonly Switch[] {
  if (names === true) return SWITCHES;
  const unknown = names.find((wanted) => SWITCHES.every(({ broken }) => !broken.includes(wanted)));
  if (unknown !== undefined) command.error(`error: there is no switch ${unknown}`, { exitCode: 2 });
  return SWITCHES.filter(({ broken }) => broken.some((name) => names.includes(name)));
}

async function checkModels(tlc: Tlc, models: readonly Model[]): Promise<readonly ModelReport[]> {
  const reports: ModelReport[] = [];
  for (const model of models) {
    const report = await checkModel(tlc, model);
    console.log(`${report.model}: ${report.end}, ${report.states} states, depth ${report.depth}`);
    reports.push(report);
  }
  const table = new Table({
    head: ['model', 'states', 'depth', 'minutes', 'verdict'],
    style: { head: [], border: [] },
  });
  for (const { model, states, depth, minutes, end, dead, violated } of reports) {
    const verdict = violated ?? (dead.length === 0 ? end : `never taken: ${dead.join(', ')}`);
    table.push([model, states.toLocaleString('en'), depth, minutes.toFixed(1), verdict]);
  }
  console.log(table.toString());
  return reports;
}

/** The checker does not name step properties (there is one), nor properties of whole behaviours. */
const NAMED: Readonly<Record<string, (model: Model) => string | undefined>> = {
  'Action property': () => 'I1b_Sent',
  'Temporal properties': ({ liveness }) => liveness,
};

/** Each must be found. */
async function checkSwitches(tlc: Tlc, all: readonly Switch[], isJson: boolean): Promise<number> {
  const switches: { readonly broken: string; readonly model: string; readonly by: string; readonly steps: number }[] =
    [];
  for (const { broken, model: name, changes } of all) {
    const model = MODELS.find((candidate) => candidate.name === name);
    if (model === undefined) throw new Error(`${broken.join(', ')}: there is no model ${name}`);
    const config = configOf(model, { ...changes, Broken: `{${broken.map((what) => `"${what}"`).join(', ')}}` });
    const isLiveness = model.liveness !== undefined;
    const { violated } = await runTlc(tlc, { module: model.module, config, isLiveness });
    const found = {
      broken: broken.join(', '),
      model: name,
      by: violated === undefined ? 'not found' : (NAMED[violated.what]?.(model) ?? violated.what),
      steps: violated?.steps ?? 0,
    };
    console.log(`${found.broken}: ${found.by} in ${found.model}, ${found.steps} steps`);
    switches.push(found);
  }
  const missed = all.filter((_, index) => switches[index]?.steps === 0);
  console.log(`${switches.length - missed.length} of ${switches.length} found; not found, and why:`);
  for (const [broken, why] of Object.entries(REDUNDANT)) console.log(`${broken}: ${why}`);
  if (isJson) console.log(JSON.stringify({ switches, notFound: REDUNDANT }));
  return missed.length === 0 ? 0 : 1;
}

command.parse();
process.exitCode = await main(command.opts<Flags>());
