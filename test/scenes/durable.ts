/** The journal of a durable task: what its holder writes, and what arrives from outside. */
import { callbackIdOf } from '../../shared/tasks/durable/callback-id.ts';
import type { CheckpointWrite, JournalStore } from '../../shared/tasks/durable/journal-store.ts';
import { createJournalStore } from '../../shared/tasks/rows/task/dynamo-journal-store.ts';
import type { RunningTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { Process } from '../support/coordination.ts';
import type { Party } from './scene.ts';
import { scene } from './scene.ts';
import { ERROR, inAMinute, listing, numbered, running, stamped, storeOf } from './steps.ts';

const journalsOf = (process: Process): JournalStore => createJournalStore(storeOf(process));
const OPEN = 'op.secret';
const PART = { name: '1.1.0', before: undefined, text: '[]' };
const WRITE: CheckpointWrite = {
  elements: ['{"e":[],"w":[1,1]}'],
  seen: 0,
  newParts: [],
  keptUntil: 1,
  opened: [],
  closed: [],
  hasBeats: false,
  effects: [],
};

/** A task that runs, whose callback waits. */
async function asking(party: Party): Promise<RunningTask> {
  const task = await running()(party);
  const write = { ...WRITE, opened: [OPEN], hasBeats: true };
  await journalsOf(party.here).checkpoint(claimOf(task), write, { ...stamped(party.here), sequence: 1 });
  return task;
}

/** The same, suspended. */
async function suspended(party: Party): Promise<RunningTask> {
  const task = await asking(party);
  const write = { elements: WRITE.elements, seen: 1, readyAt: inAMinute(party.here) };
  await journalsOf(party.here).suspend(claimOf(task), write, { ...stamped(party.here), sequence: 2 });
  return task;
}

const spills = (process: Process, task: RunningTask, stamp = numbered(process)) =>
  journalsOf(process).checkpoint(claimOf(task), { ...WRITE, elements: [], newParts: [PART] }, stamp);

/** A task that runs, with a part of its journal in a separate row. */
async function withPart(party: Party): Promise<RunningTask> {
  const task = await running()(party);
  await spills(party.here, task, { ...stamped(party.here), sequence: 1 });
  return (await storeOf(party.here).get(task)) as RunningTask;
}

const answers = ({ here }: Party, task: RunningTask) =>
  here.leasehold.tasks.callbacks.succeed(callbackIdOf(task, OPEN), 'yes');
const isAnswered = ({ there }: Party, task: RunningTask) =>
  there.leasehold.tasks.callbacks.succeed(callbackIdOf(task, OPEN), 'first');

export const DURABLE = [
  scene('task.checkpoint', 'checkpoint of a journal', {
    before: running(),
    act: ({ here }, task) => journalsOf(here).checkpoint(claimOf(task), WRITE, numbered(here)),
  }),
  scene('task.spill', 'checkpoint that moves older elements', {
    before: running(),
    act: ({ here }, task) => spills(here, task),
  }),
  scene('journal.put', 'row of the moved elements', {
    before: running(),
    act: ({ here }, task) => spills(here, task),
  }),
  scene('task.suspend', 'suspension', {
    before: running(),
    act: ({ here }, task) =>
      journalsOf(here).suspend(
        claimOf(task),
        { elements: WRITE.elements, seen: 0, readyAt: inAMinute(here) },
        numbered(here),
      ),
  }),
  scene('task.complete', 'end of a durable task', {
    before: running(),
    act: ({ here }, task) => journalsOf(here).end(claimOf(task), ['{"e":[]}'], { result: 1 }, numbered(here)),
  }),
  scene('task.complete', 'end of a durable task in a queue that lists', {
    before: async (party) => {
      await listing(party);
      return running()(party);
    },
    act: ({ here }, task) => journalsOf(here).end(claimOf(task), ['{"e":[]}'], { result: 1 }, numbered(here)),
  }),
  scene('task.discard', 'death of a durable task', {
    before: running(),
    act: ({ here }, task) => journalsOf(here).end(claimOf(task), ['{"e":[]}'], { error: ERROR }, numbered(here)),
  }),
  scene('arrival.put', 'answer to a task that waits', {
    before: suspended,
    act: answers,
    rivals: { 'another answers': isAnswered },
  }),
  scene('task.arrive', 'answer to a task that runs', {
    before: asking,
    act: answers,
    rivals: { 'another answers': isAnswered },
  }),
  scene('task.beat', 'heartbeat of a callback', {
    before: suspended,
    act: ({ here }, task) => here.leasehold.tasks.callbacks.heartbeat(callbackIdOf(task, OPEN)),
  }),
  scene('journal.expire', 'end of a durable task with moved elements', {
    before: withPart,
    act: ({ here }, task) =>
      journalsOf(here).end(
        claimOf(task),
        [],
        { apart: { parts: [PART.name], arrivals: [] } },
        { ...stamped(here), sequence: 2 },
      ),
  }),
  scene('journal.page', 'read the moved elements of a journal', {
    before: withPart,
    act: async ({ here }, task) => [...(await storeOf(here).journalParts(task)).texts.values()],
  }),
  scene('arrival.page', 'read answers', {
    before: async (party) => {
      const task = await asking(party);
      await isAnswered(party, task);
      return task;
    },
    act: async ({ here }, task) => (await storeOf(here).arrivals(task)).size,
  }),
];
