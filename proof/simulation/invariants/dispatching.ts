/**
 * I20 a tick that is delivered twice is dispatched by one invocation, which goes on when it is tried again.
 * HINT what workers and wakers write into the queue's row changes nothing that operators and dispatchers write, not even the nonce, so no
 * pause is refused because of it.
 * SLOT each slot of a schedule becomes one task: the schedule moves on only when the tasks of the slots that it leaves behind are there.
 */
import type { Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';
import { QUEUE_NAME } from '../rows.ts';

/** The one that the workload defines: every twenty seconds. */
export const SCHEDULE = { name: 'often', cron: '*/20 * * * * *', everyMs: 20_000 } as const;

const HINTS = [':unknown', ':names', ':starts', ':announced'];
const QUEUE_ROW = `queue#${QUEUE_NAME}`;
const SCHEDULE_ROW = `schedule#${QUEUE_NAME}#${SCHEDULE.name}`;

export const dispatching: Family = (_assumptions, report) => {
  const dispatched = new Set<string>();
  const tasks = new Set<string>();

  /** Hints are told by what they write. */
  function onQueue({ row, before, after, values = {} }: Applied): void {
    if (HINTS.some((hint) => hint in values) && before !== undefined && before.nonce !== after?.nonce)
      report('HINT', row, `hints changed the nonce from ${String(before.nonce)} to ${String(after?.nonce)}`);
  }

  function onSchedule({ row, before, after }: Applied): void {
    const [from, to] = [Number(before?.readyAt), Number(after?.readyAt)];
    if (before === undefined || after === undefined || to === from) return;
    if (to < from)
      report('SLOT', row, `went back from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`);
    // One policy keeps only the last of the slots that were missed.
    const first = after.missed === 'last' ? to - SCHEDULE.everyMs : from;
    for (let slot = first; slot < to; slot += SCHEDULE.everyMs) {
      const task = `task#${QUEUE_NAME}#${SCHEDULE.name}@${new Date(slot).toISOString()}`;
      if (!tasks.has(task))
        report('SLOT', row, `left ${new Date(slot).toISOString()} behind, which has become no task`);
    }
  }

  return {
    on(event) {
      if (event.kind === 'applied' && isTask(event.row)) tasks.add(event.row);
      else if (event.kind === 'applied' && event.row === SCHEDULE_ROW) onSchedule(event);
      else if (event.kind === 'applied' && event.row === QUEUE_ROW) onQueue(event);
      else if (event.kind === 'acknowledged' && event.what === 'dispatched') {
        if (dispatched.has(event.row)) report('I20', event.row, `was dispatched again, by ${event.process}`);
        dispatched.add(event.row);
      }
    },
  };
};
