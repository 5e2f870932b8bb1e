/**
 * LISTED: an ended task stands in exactly one list: a dead one in that of dead tasks, and another, if its queue lists, in that of finished
 * tasks, with how it ended. A task that was cancelled before its turn in a line keeps its place there instead, until its turn is passed.
 * One that has not ended stands in neither.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);

export const listed: Family = ({ lists = false }, report) => ({
  on(event) {
    if (event.kind !== 'applied' || !isTask(event.row) || event.after?.state === undefined) return;
    const { row, after } = event;
    const place = typeof after.directoryKey === 'string' ? after.directoryKey : '';
    const isListed = /^(?:ended|dead)#/.test(place);
    if (!ENDED.has(after.state)) {
      if (isListed) report('LISTED', row, `is ${String(after.state)}, and stands in ${place}`);
      return;
    }
    if (after.readyKey !== undefined) report('LISTED', row, 'has ended, and stands in the ready index');
    if (after.state === 'cancelled' && after.ticket !== undefined && place.startsWith('group#')) return;
    const wanted = after.state === 'dead' ? 'dead' : lists ? 'ended' : '';
    if (place.split('#', 1)[0] !== wanted)
      report('LISTED', row, `is ${String(after.state)}, and stands in ${place || 'no list'}`);
    else if (lists && !saysHow(after)) report('LISTED', row, `has the entry ${String(after.directoryName)}`);
  },
});

/** Whether the entry begins with the moment and how it ended, and has the right number of parts. */
function saysHow({ directoryName, finishedAt, state, name, attempts }: DynamoItem): boolean {
  const parts = String(directoryName).split('#');
  const moment = new Date(Number(finishedAt)).toISOString();
  const [at, how, task, , , claims] = parts;
  return parts.length === 8 && at === moment && how === state && task === name && claims === String(attempts);
}
