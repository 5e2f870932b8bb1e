import type { Mutant } from '../change.ts';

const JOURNAL = 'shared/tasks/rows/task/journal-statements.ts';
const ARRIVALS = 'shared/tasks/rows/task/arrival-statements.ts';
const INVOCATION = 'shared/tasks/durable/invocation.ts';

/** Little else is done. */
const DURABLE = { durables: 12, tasks: 5, lockShare: 0, coordinationShare: 0 };
const OPERATED = { ...DURABLE, operator: true };

export const DURABLE_MUTANTS: readonly Mutant[] = [
  {
    id: 'D1',
    what: 'a suspension overlooks what has arrived',
    file: JOURNAL,
    from: '`AND #sequence < :sequence AND ${hasSeen(seen)}`,',
    to: '`AND #sequence < :sequence AND (${hasSeen(seen)} OR NOT ${hasSeen(seen)})`,',
    killedBy: ['JOURNAL', 'ARRIVE'],
    changes: DURABLE,
  },
  {
    id: 'D2',
    what: 'a suspension overlooks that the task is to be cancelled',
    file: JOURNAL,
    from: '`${IS_MINE} AND ${HAS_NO_FOLLOWER} AND attribute_not_exists(#cancellation) ` +',
    to: '`${IS_MINE} AND ${HAS_NO_FOLLOWER} ` +',
    killedBy: ['ARRIVE'],
    changes: OPERATED,
  },
  {
    id: 'D3',
    what: 'a checkpoint overlooks what has arrived',
    file: JOURNAL,
    from: 'guard: `${IS_MINE} AND #sequence < :sequence AND ${hasSeen(seen)}`,',
    to: 'guard: `${IS_MINE} AND #sequence < :sequence AND (${hasSeen(seen)} OR NOT ${hasSeen(seen)})`,',
    killedBy: ['JOURNAL', 'ARRIVE'],
    changes: DURABLE,
  },
  {
    id: 'D4',
    what: 'an arrival stamps a task that runs',
    file: ARRIVALS,
    from: "effect: `SET ${APPEND}${due === undefined ? '' :",
    to: "effect: `SET ${APPEND}${due === undefined ? ', #nonce = :nonce' :",
    also: [
      {
        file: ARRIVALS,
        from: '...(due === undefined ? {} : { ...due.values,',
        to: "...(due === undefined ? { ':nonce': nonce } : { ...due.values,",
      },
    ],
    killedBy: ['JOURNAL', 'I0', 'ONCE'],
    changes: { ...DURABLE, replyLost: 0.1 },
  },
  {
    id: 'D5',
    what: 'what has arrived is still waited for',
    file: ARRIVALS,
    from: '${left} DELETE #open :openKeys`,',
    to: '${left} ADD #open :openKeys`,',
    killedBy: ['OPEN'],
    changes: DURABLE,
  },
  {
    id: 'D6',
    what: 'a callback times out by the clock, without a write',
    file: 'shared/tasks/durable/journal.ts',
    from: 'if (late.length > 0) await this.#write(late.map((entry) => ({ entry, effects: [] })));',
    to: 'this.#soften(late);',
    killedBy: ['OPEN', 'ARRIVE'],
    changes: DURABLE,
  },
  {
    id: 'D7',
    what: 'the end of a step is only kept in memory',
    file: INVOCATION,
    from: "if (Action !== 'START') return false;",
    to: "if (Action !== 'START') return Type === 'STEP';",
    killedBy: ['JOURNAL'],
    changes: DURABLE,
  },
  {
    id: 'D8',
    what: 'the start of a step that may run once is only kept in memory',
    file: INVOCATION,
    from: "(Type === 'STEP' && this.#tell(Id, -1) >= 0)",
    to: "(Type === 'STEP' && this.#tell(Id, -1) >= -9)",
    killedBy: ['ONCE'],
    changes: DURABLE,
  },
  {
    id: 'D9',
    what: 'the child of an invoke is created before its start is recorded',
    file: INVOCATION,
    from: 'return { entry: { ...entry, f }, effects: [{ spawn: await childOf(update, { ...entry, f }, holder) }] };',
    to: 'await holder.tasks.enqueue(await childOf(update, { ...entry, f }, holder), { now: journal.now, nonce: holder.runtime.ids.unique() });\n      return { entry: { ...entry, f }, effects: [] };',
    killedBy: ['CHILD'],
    changes: DURABLE,
  },
  {
    id: 'D10',
    what: 'a checkpoint that arrives late is applied again',
    file: JOURNAL,
    from: 'guard: `${IS_MINE} AND #sequence < :sequence AND ${hasSeen(seen)}`,',
    to: 'guard: `${IS_MINE} AND #sequence <= :sequence AND ${hasSeen(seen)}`,',
    killedBy: ['I0', 'JOURNAL'],
    changes: { ...DURABLE, duplicate: 0.2, latestMs: 5_000 },
  },
  {
    id: 'D11',
    what: 'what had succeeded runs again when an operator retries the task',
    file: 'shared/tasks/durable/operations.ts',
    from: 'return REDRIVEN.has(state.status) || asksAgain;',
    to: "return state.status !== 'STARTED' || asksAgain;",
    killedBy: ['ONCE'],
    changes: OPERATED,
  },
  {
    id: 'D12',
    what: 'a callback that is asked again after an operator’s retry is told to nobody',
    file: 'shared/tasks/durable/operations.ts',
    from: "const asksAgain = above?.subType === 'WaitForCallback'",
    to: "const asksAgain = above?.subType === 'Nothing'",
    killedBy: ['L3'],
    changes: OPERATED,
  },
  {
    id: 'D13',
    what: 'a heartbeat is accepted for a task that has ended',
    file: ARRIVALS,
    from: "guard: 'contains(#open, :openKey) AND #state IN (:ready, :running)',",
    to: "guard: 'contains(#open, :openKey) AND (#state IN (:ready, :running) OR #state <> :ready)',",
    killedBy: ['I16'],
    changes: OPERATED,
  },
];
