/**
 * I20 a tick that is delivered twice is dispatched by one invocation, which goes on when it is tried again.
 * W1 a worker's hints change nothing that operators and dispatchers write, not even the nonce, so that no pause is refused because of them.
 */
import type { Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { QUEUE_NAME } from '../rows.ts';

const QUEUE_ROW = `queue#${QUEUE_NAME}`;

export const dispatching: Family = (_assumptions, report) => {
  const dispatched = new Set<string>();

  /** Hints are told by what they write: their requests carry no nonce. */
  function onQueue({ row, before, after, values }: Applied): void {
    if (values?.[':unknown'] !== undefined && before !== undefined && before.nonce !== after?.nonce)
      report('W1', row, `hints changed the nonce from ${String(before.nonce)} to ${String(after?.nonce)}`);
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
