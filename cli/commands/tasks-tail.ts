/**
 * `leasehold tasks tail`: prints a line for each task that ends.
 * On an engine of this machine it reads the table's stream. Elsewhere a stream's shard allows only two readers, and the waker of deployed
 * queues is one of them: there it reads the queue's list of finished tasks.
 */
import { Command } from 'commander';
import { isLoopback } from '../../shared/dynamo/wire/endpoint.ts';
import { changedTasks } from '../../shared/dynamo/inserted.ts';
import { followTable } from '../../shared/dynamo/table-stream.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { name } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import type { Output } from '../output.ts';
import { moment, printable, shortened, span } from '../output.ts';
import { followList } from '../queue/ended-list.ts';
import type { QueueOptions } from '../queue/options.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface Options extends QueueOptions {
  readonly name?: string;
  readonly failed?: boolean;
}

export function tasksTailCommand(bind: Bind): Command {
  const command = new Command('tail')
    .description(
      'Prints a line for each task that ends and each attempt that fails, until interrupted. ' +
        'Elsewhere than on an engine of this machine it prints only ends, of a queue that lists finished tasks ' +
        '(leasehold work --list-finished), and reads half a read unit every two seconds for each of its shards.',
    )
    .option('--name <name>', 'only those of this definition', name)
    .option('--failed', 'only attempts that failed; of a list, dead tasks and those that ended after a failed attempt');
  return bind<Options>(command, tail);
}

async function tail({ output, connect, settings, runtime }: Context, options: Options): Promise<ExitCode> {
  const { endpoint, table } = settings;
  using connection = await connect();
  const there = connection.queue(options.queue, options.shards);
  if (endpoint === undefined || !isLoopback(endpoint))
    return await untilInterrupted((interrupted) =>
      followList(there, options, { output, clock: runtime.clock }, interrupted),
    );
  const { queue, store } = there;
  /** The last printed end of each task, because a row changes more often than its task ends. */
  const told = new Map<string, string>();
  return await untilInterrupted((interrupted) =>
    followTable(
      { endpoint, table, clock: runtime.clock },
      async (records) => {
        for (const id of changedTasks(records).get(queue) ?? []) {
          const task = await store.get({ queue, id });
          const end = task && endOf(task);
          if (task === undefined || end === undefined || told.get(id) === end.of) continue;
          told.set(id, end.of);
          const isWanted = (options.name ?? task.name) === task.name && (options.failed !== true || end.isFailure);
          if (isWanted) print(output, task, end);
        }
      },
      interrupted,
    ),
  );
}

export interface End {
  /** Distinguishes this end from other ends of the same task. */
  readonly of: string;
  readonly at: number;
  readonly how: string;
  readonly tookMs: number | undefined;
  readonly isFailure: boolean;
}

/** Returns how the task ended, or how its last attempt failed; undefined if neither has happened. */
export function endOf(task: TaskRecord): End | undefined {
  const { lastError, leaseCounter, claimedAt } = task;
  const isFailure = task.state === 'dead' || (task.state === 'ready' && lastError !== undefined && task.attempts > 0);
  if (!isFailure && task.state !== 'done' && task.state !== 'cancelled') return undefined;
  const at = 'finishedAt' in task ? task.finishedAt : (lastError?.at ?? 0);
  return {
    of: `${leaseCounter} ${task.state} ${at}`,
    at,
    how: task.state === 'ready' ? 'failed' : task.state,
    tookMs: claimedAt === undefined || claimedAt > at ? undefined : at - claimedAt,
    isFailure,
  };
}

export function print(output: Output, task: TaskRecord, { at, how, tookMs, isFailure }: End): void {
  const { lastError, id, name: definition, attempts } = task;
  output.answer(task, () =>
    [
      moment(at),
      output.style(isFailure ? 'red' : 'green', how.padEnd(9)),
      `${printable(definition)} ${printable(id)}`,
      `attempt ${attempts}${tookMs === undefined ? '' : `, ${span(tookMs)}`}`,
      ...(isFailure && lastError !== undefined ? [shortened(`${lastError.name}: ${lastError.message}`, 100)] : []),
    ].join('  '),
  );
}
