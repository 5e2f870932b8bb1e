/** `leasehold doctor`: checks the deployment, and suggests repairs. */
import { Command } from 'commander';
import { awsEnvironment } from '../../shared/dynamo/wire/aws-environment.ts';
import { loadTaskModule } from '../../shared/tasks/run/task-module.ts';
import { judgeBatches } from '../doctor/batches.ts';
import { examine, orUnknown } from '../doctor/examine.ts';
import type { Finding, Health } from '../doctor/finding.ts';
import { worstOf } from '../doctor/finding.ts';
import { judgeKeys } from '../doctor/keys.ts';
import { judgeNames } from '../doctor/names.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { EXIT } from '../exit.ts';
import type { Output, Style } from '../output.ts';
import { printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import { ownVersion } from '../version.ts';

interface Options extends QueueOptions {
  readonly strict?: boolean;
  readonly entry?: string;
}

export function doctorCommand(bind: Bind): Command {
  const command = new Command('doctor')
    .summary('check the table, permissions and clocks')
    .description(
      'Checks the table, its indexes, settings and stream, permissions and clocks, and says how to fix each problem. Changes nothing.',
    )
    .option('--strict', 'treat warnings as failures')
    .option('--entry <module>', 'task module: list waiting tasks that it does not define')
    .addOption(queueOption())
    .addOption(shardsOption())
    .addHelpText('after', HELP);
  return bind<Options>(command, doctor);
}

async function doctor(
  { settings, output, connect }: Context,
  { strict, entry, queue, shards }: Options,
): Promise<ExitCode> {
  const work = entry === undefined ? undefined : await loadTaskModule(entry);
  using connection = await connect();
  const examined = await examine({
    ...connection,
    client: await connection.openClient(),
    isEmulator: settings.endpoint !== undefined,
    maxClockSkewMs: settings.maxClockSkew,
    variables: awsEnvironment(),
    versions: { node: process.versions.node, leasehold: ownVersion() },
  });
  const there = connection.queue(queue, shards);
  const hasTable = !examined.some(({ check, health }) => check === 'table' && health === 'broken');
  const names =
    hasTable && entry !== undefined && work !== undefined
      ? [await orUnknown(`names in ${queue}`, () => judgeNames(there, work.registry, entry))]
      : [];
  const { clock } = connection.runtime;
  const keys = hasTable ? [await orUnknown(`keys in ${queue}`, () => judgeKeys(there, clock))] : [];
  const batches = hasTable ? [await orUnknown(`batches in ${queue}`, () => judgeBatches(there, clock))] : [];
  const findings = [...examined, ...keys, ...batches, ...names];
  const worst = worstOf(findings);
  output.answer({ health: worst, findings }, () => findingsText(findings, output));
  return worst === 'broken' || (strict === true && worst === 'warning') ? EXIT.failed : EXIT.done;
}

export function findingsText(findings: readonly Finding[], output: Output): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(({ check, health, found, remedy }) => {
      const { sign, style } = SIGNS[health];
      const line = `${output.style(style, sign)} ${check.padEnd(width)}  ${printable(found)}`;
      return remedy === undefined ? line : `${line}\n  ${' '.repeat(width)}  → ${remedy}`;
    })
    .join('\n');
}

const SIGNS: Readonly<Record<Health, { readonly sign: string; readonly style: Style }>> = {
  ok: { sign: '✓', style: 'green' },
  warning: { sign: '!', style: 'yellow' },
  broken: { sign: '✗', style: 'red' },
  unknown: { sign: '?', style: 'dim' },
};

const HELP = `
Signs: ✓ as it should be, ! works but risks or costs something, ✗ does not work or not safely, ? could not be checked.

Exit codes: 0 nothing is broken, 1 something is (with --strict: or is warned about), 2 and 3 as of every command.

Examples:
  $ leasehold doctor --table media-queue
  $ leasehold doctor --entry src/tasks.ts --queue mail
  $ leasehold doctor --strict --json | jq '.findings[] | select(.health != "ok")'`;
