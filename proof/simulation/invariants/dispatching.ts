/**
 * I20 a tick that is delivered twice is dispatched by one invocation, which goes on when it is tried again.
 * HINT what workers and wakers write into the queue's row changes nothing that operators and dispatchers write, not even the nonce, so no
 * pause is refused because of it.
 */
import type { Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { QUEUE_NAME } from '../rows.ts';

const HINTS = [':unknown', ':names', ':starts', ':announced'];
const QUEUE_ROW = `queue#${QUEUE_NAME}`;

export const dispatching: Family = (_assumptions, report) => {
  const dispatched = new Set<string>();

  /** Hints are told by what they write. */
  function onQueue({ row, before, after, values = {} }: Applied): void {
    if (HINTS.some((hint) => hint in values) && before !== undefined && before.nonce !== after?.nonce)
      report('HINT', row, `hints changed the nonce from ${String(before.nonce)} to ${String(after?.nonce)}`);
  }

  return {
    on(event) {
      if (event.kind === 'applied' && event.row === QUEUE_ROW) onQueue(event);
      else if (event.kind === 'acknowledged' && event.what === 'dispatched') {
        if (dispatched.has(event.row)) report('I20', event.row, `was dispatched again, by ${event.process}`);
        dispatched.add(event.row);
      }
    },
  };
};
