/** `leasehold tasks find`: tasks whose id, key, label or name contains a text, in all lists of a queue. */
import { Command, Option } from 'commander';
import { ENDED_STATES } from '../../shared/tasks/queue/ended-tasks.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { name, wholeNumber } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, tableText } from '../listing.ts';
import { momentAndAge, plural, printable, shortened } from '../output.ts';
import { noteNoList } from '../queue/ended-list.ts';
import { upTo } from '../queue/listing-progress.ts';
import type { QueueOptions } from '../queue/options.ts';
import { unfinishedTasks } from '../queue/queue-summary.ts';
import { stateOf } from '../queue/task-words.ts';

interface Options extends QueueOptions, LimitOptions {
  readonly maxReadUnits: number;
}

/** Enough for some 100,000 finished tasks, or for some 4,000 waiting ones, whose rows are read. */
const DEFAULT_MAX_READ_UNITS = 2_000;

export function tasksFindCommand(bind: Bind): Command {
  const command = new Command('find')
    .argument('<text>', 'a part of an id, a key, a label or a name', name)
    .description(
      'Tasks of a queue whose id, key, label or name contains a text, newest first: finished ones if the queue lists them ' +
        '(leasehold work --list-finished), dead ones, and those that wait or run. Names and keys of ended tasks are cut to 100 bytes.',
    )
    .addOption(
      new Option('--max-read-units <n>', 'where to stop reading')
        .argParser(wholeNumber(1))
        .default(DEFAULT_MAX_READ_UNITS),
    )
    .addOption(limitOption());
  return bind<Options>(command, find);
}

interface Found {
  readonly id: string;
  readonly state: string;
  readonly name: string | undefined;
  readonly label: string | undefined;
  readonly key: string | undefined;
  readonly at: number;
}

async function find(
  { output, connect, runtime }: Context,
  { queue, shards, limit, maxReadUnits }: Options,
  text: string,
): Promise<void> {
  using connection = await connect();
  const there = connection.queue(queue, shards);
  const now = runtime.clock.now();
  const before = connection.readUnits();
  const used = (): number => connection.readUnits() - before;
  let stopped: string | undefined;
  const within = <T>(rows: AsyncIterable<T>, where: string): AsyncIterable<T> =>
    upTo(maxReadUnits - used(), connection.readUnits, rows, () => {
      stopped ??= `in ${where}`;
    });
  const record = await there.queues.glance(queue);
  const found: Found[] = [];
  let read = 0;
  const keep = (one: Found): void => {
    read++;
    if ([one.id, one.name, one.label, one.key].some((part) => part?.includes(text) === true)) found.push(one);
  };
  const isListed = record?.listedSince !== undefined;
  const ended = there.operator.ended({ queue, shards, states: isListed ? ENDED_STATES : ['dead'] });
  for await (const entry of within(ended, isListed ? 'the list of finished tasks' : 'the list of dead tasks')) {
    if (entry.kind === 'damaged')
      keep({ id: entry.id, state: 'damaged entry', name: entry.text, label: '', key: '', at: 0 });
    else keep({ id: entry.id, state: entry.state, name: entry.name, label: entry.label, key: entry.key, at: entry.at });
    if (found.length === limit) break;
  }
  const open = 'the tasks that wait or run';
  if (used() >= maxReadUnits) stopped ??= `before ${open}`;
  else for await (const task of within(unfinishedTasks(there), open)) keep(openOne(task, now));
  const shown = found.sort((a, b) => b.at - a.at).slice(0, limit);
  output.answer(shown, () =>
    shown.length === 0
      ? printable(`nothing in queue ${queue} contains ${JSON.stringify(text)}`)
      : tableText(shown, {
          id: ({ id }) => shortened(id, 48),
          task: (one) => shortened(one.name ?? '', 24),
          label: ({ label }) => shortened(label ?? '', 32),
          key: ({ key }) => shortened(key ?? '', 24),
          state: ({ state }) => state,
          since: ({ at }) => (at === 0 ? '' : momentAndAge(at, now)),
        }),
  );
  const units = `${Math.ceil(used())} read units`;
  const reading = stopped === undefined ? units : `stopped after ${units}, ${stopped} (see --max-read-units)`;
  output.note(printable(`${plural(read, 'task')} read, ${reading}; leasehold tasks show ID shows one task in full`));
  if (found.length > shown.length || found.length === limit)
    output.note(`shows the first ${limit}, and there may be more (see --limit)`);
  if (!isListed) noteNoList(queue, output);
}

function openOne(task: TaskRecord, now: number): Found {
  const { id, name: definition, label, links, createdAt } = task;
  const key = links?.concurrency?.key ?? links?.line?.key;
  const at = task.state === 'running' ? task.claimedAt : createdAt;
  return { id, state: stateOf(task, now), name: definition, label, key, at };
}
