/**
 * `leasehold work` and `leasehold tasks run`, scene by scene: their output, their exit codes, and the final state of the tasks.
 *
 * Rows, leases and the clock are simulated; the tasks come from a module that misbehaves.
 */
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { splitKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/task/task-request.ts';
import { connectionOf, printedBy } from '../../../support/cli-scene.ts';
import type { Process } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const ENTRY = fileURLToPath(new URL('../../../support/tasks-modules/hostile.ts', import.meta.url));

type Enqueued = readonly [name: string, input: unknown, options: EnqueueOptions & { readonly id: string }];

interface Scene {
  readonly what: string;
  readonly argv: string;
  readonly tasks?: readonly Enqueued[];
  readonly then?: Readonly<Record<number, (here: Process) => unknown>>;
}

const fine = (id: string, options: EnqueueOptions = {}): Enqueued => ['fine', { n: 1 }, { id, ...options }];
const other = (name: string, options: EnqueueOptions = {}): Enqueued => [name, null, { id: name, ...options }];
const interrupt = (): void => void process.emit('SIGINT', 'SIGINT');
const work = 'work --entry ENTRY';
const drain = `${work} --until-drained`;

const SCENES: readonly Scene[] = [
  { what: 'nothing to do', argv: drain },
  { what: 'all is done', argv: drain, tasks: [fine('a'), fine('b')] },
  { what: 'for programs', argv: `${drain} --json`, tasks: [fine('a')] },
  { what: 'of another queue', argv: `${drain} --queue mail`, tasks: [fine('a'), fine('b', { queue: 'mail' })] },
  { what: 'some are dead', argv: drain, tasks: [fine('a'), other('gave.up')] },
  { what: 'some are tried again', argv: drain, tasks: [other('throws')] },
  { what: 'one that nobody knows', argv: drain, tasks: [other('stranger'), fine('a')] },
  { what: 'one that is due later', argv: drain, tasks: [fine('a', { delay: '1h' })] },
  {
    what: 'until it is interrupted, although some are dead',
    argv: work,
    tasks: [fine('a'), other('gave.up')],
    then: { 30_000: interrupt },
  },
  { what: 'interrupted at work', argv: work, tasks: [other('never.ends')], then: { 200: interrupt } },
  { what: 'a module that is none', argv: 'work --entry /nowhere/tasks.ts' },
  { what: 'without a module', argv: 'work' },
  { what: 'too many at once', argv: `${work} --concurrency 1001` },
  { what: 'spans that are none', argv: `${work} --attempt-spans child` },

  { what: 'run: done, with its result', argv: 'tasks run a --entry ENTRY', tasks: [fine('a')] },
  { what: 'run: for programs', argv: 'tasks run throws --entry ENTRY --json', tasks: [other('throws')] },
  { what: 'run: fails', argv: 'tasks run throws --entry ENTRY', tasks: [other('throws')] },
  { what: 'run: dead', argv: 'tasks run gave.up --entry ENTRY', tasks: [other('gave.up')] },
  { what: 'run: one that nobody knows', argv: 'tasks run stranger --entry ENTRY', tasks: [other('stranger')] },
  { what: 'run: not due', argv: 'tasks run a --entry ENTRY', tasks: [fine('a', { delay: '1m' })] },
  { what: 'run: too late', argv: 'tasks run a --entry ENTRY', tasks: [fine('a', { expires: '1ms' })] },
  { what: 'run: none', argv: 'tasks run nothing --entry ENTRY' },
];

async function played({ what, argv, tasks = [], then = {} }: Scene): Promise<string> {
  const world = simulatedWorld();
  let ids = 0;
  const unique = (): string => `id-${++ids}`;
  const here = world.start({}, { ids: { unique, ordered: unique }, random: { next: () => 0.5 } });
  const { leasehold, ports, runtime, sender } = here;
  for (const [name, input, options] of tasks) await leasehold.tasks.enqueue(name, input, options);
  await world.clock.advance(1);
  const startedAt = runtime.clock.monotonic();
  const queue = (of: string, shards: number) => ({ ...ports, queue: of, shards, store: ports.tasks });
  const loaded = Promise.withResolvers<undefined>();
  const connection = connectionOf({
    leasehold,
    gauge: ports.gauge,
    sessions: ports.sessions,
    clientOf: (settings: object) => ({ foundation: { sender, gauge: ports.gauge, runtime }, settings }),
  });
  const words = argv.split(' ').map((word) => (word === 'ENTRY' ? ENTRY : word));
  const printing = printedBy(
    words,
    {
      ...connection,
      queue(of, shards) {
        loaded.resolve(undefined);
        return queue(of, shards) as never;
      },
    },
    [],
    runtime,
  );
  // Loading the module takes no time of this world.
  await Promise.race([loaded.promise, printing]);
  for (const [ms, act] of Object.entries(then)) void runtime.clock.sleep(Number(ms)).then(() => act(here));
  const printed = await passTime(world, printing);
  const seconds = Math.floor((runtime.clock.monotonic() - startedAt) / 1_000);
  const rows = world
    .rows()
    .flatMap(({ pk, sk, state, attempts }) =>
      sk === 'task' ? [`${splitKey(String(pk))[2]}: ${String(state)}, ${String(attempts)} attempts`] : [],
    );
  const live = await Array.fromAsync(leasehold.sessions.list(), ({ name }) => `session ${name} lives`);
  return [`## ${what}`, printed.trimEnd(), `after ${seconds} s`, ...rows.sort(), ...live, ''].join('\n');
}

export async function worked(): Promise<string> {
  process.on('SIGINT', nothing);
  onTestFinished(() => void process.off('SIGINT', nothing));
  const before = process.listenerCount('SIGINT');

  const scenes: string[] = [];
  for (const scene of SCENES) scenes.push(await played(scene));

  expect(process.listenerCount('SIGINT')).toBe(before);
  const text = scenes.join('\n').replaceAll(/"stack":"(?:[^"\\]|\\.)*"/g, '"stack":"…"');
  return text.replaceAll(ENTRY, 'ENTRY');
}

function nothing(): void {
  // Hears it.
}
