/** `leasehold watch`: shows a queue live. */
import { Command } from 'commander';
import { liveText } from '../../local/live-text.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import { spanOption } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import type { Output } from '../output.ts';
import { moment, plural, printable, span } from '../output.ts';
import type { QueueSummary } from '../queue/queue-summary.ts';
import { sumOf, summarizeQueue } from '../queue/queue-summary.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import { untilInterrupted } from '../until-interrupted.ts';

type Options = QueueOptions & { readonly every: number };

const DEFAULT_EVERY_MS = 2_000;
const BAR_WIDTH = 30;

export function watchCommand(bind: Bind): Command {
  const command = new Command('watch')
    .summary('watch a queue')
    .description(
      'Shows a queue until interrupted: a picture on a terminal, a line each time elsewhere, a JSON value a line with --json.',
    )
    .addOption(queueOption())
    .addOption(shardsOption())
    .addOption(
      spanOption(
        '--every <span>',
        'time between polls; a poll costs about half a read unit per 30 tasks',
        DEFAULT_EVERY_MS,
      ),
    )
    .addHelpText('after', HELP);
  return bind<Options>(command, watch);
}

async function watch({ output, connect, runtime }: Context, options: Options): Promise<ExitCode> {
  using connection = await connect();
  const queue = connection.queue(options.queue, options.shards);
  const show = screenOf(output, runtime);
  return await untilInterrupted(async (signal) => {
    while (!signal.aborted) {
      show(await summarizeQueue(connection, queue));
      await runtime.clock.sleep(options.every, signal);
    }
  });
}

function screenOf(output: Output, { clock }: Runtime): (census: QueueSummary) => void {
  if (output.isJson || !output.out.isTTY)
    return (census) =>
      output.answer({ at: clock.now(), ...census }, () => `${moment(clock.now())}  ${summary(census)}`);
  const live = liveText(output.out);
  return (census) => live.show(picture(census, output));
}

function summary(census: QueueSummary): string {
  const { due, later, dead, running, workers, isPaused, oldestReadyAgeMs } = census;
  const age = oldestReadyAgeMs === 0 ? '' : `, oldest ready ${span(oldestReadyAgeMs)}`;
  return (
    `${isPaused ? 'paused, ' : ''}${sumOf(due)} due (${running} running), ${sumOf(later)} delayed, ` +
    `${dead} dead, ${plural(workers.live, 'worker')}${age}`
  );
}

function picture(census: QueueSummary, output: Output): string {
  const most = Math.max(1, ...PRIORITIES.map((priority) => census.due[priority]));
  const bars = PRIORITIES.map((priority) => {
    const filled = Math.ceil((census.due[priority] / most) * BAR_WIDTH);
    const bar = output.style('green', '█'.repeat(filled)) + output.style('dim', '░'.repeat(BAR_WIDTH - filled));
    return `  ${priority.padEnd(7)} ${bar} ${census.due[priority].toLocaleString('en-US')}`;
  });
  const state = census.isPaused ? output.style('yellow', 'paused') : output.style('green', 'active');
  return [
    `  ${output.style('bold', printable(census.queue))} ${state}`,
    '',
    ...bars,
    '',
    `  ${summary(census)}`,
    '',
  ].join('\n');
}

const HELP = `
Examples:
  $ leasehold watch --queue media
  $ leasehold watch --json --every 10s | jq -c '{at, due, workers}'`;
