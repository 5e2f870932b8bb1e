/**
 * I5 a release affects only the caller's lease: handing back, snoozing and retrying name the current claim.
 * I14 claim exclusion: attempts of a task follow each other; another worker takes it over only after the holder's session is dead.
 * I15 task conservation: an enqueued task stays, and is deleted only from an end state and after its retention.
 * I16 single completion: one end, by the holder of the latest claim,
 * whose code ended well if it is done; `done` and its result come in one write,
 *   and never change afterwards.
 * I17 acknowledged is durable: the row agrees with the application's response.
 * I19 enqueuing again changes nothing.
 * I18 attempts bound: claims that were not handed back never exceed the bound, silent deaths included.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied, Called, Ran, Swept } from '../history.ts';
import { keepsPlace } from './lines.ts';
import type { Family } from './rule.ts';
import { isSession, isTask, textOf } from './rule.ts';

const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);

/** Arrivals for an ended durable task are kept for an operator's retry. `journal.ts` judges them. */
function isArrival(before: DynamoItem, after: DynamoItem): boolean {
  const names = Object.keys({ ...before, ...after }).filter((name) => name !== 'journal' && name !== 'open');
  return after.journal !== before.journal && names.every((name) => isDeepStrictEqual(before[name], after[name]));
}

export const tasks: Family = (assumptions, report) => {
  const calls = new Map<number, Called>();
  const rows = new Map<string, DynamoItem>();
  /** Sessions that have ended, or are gone. */
  const live = new Set<string>();
  /** Claims of this generation that were not handed back. */
  const spent = new Map<string, number>();
  const acknowledged = new Set<string>();
  /** By row: all results ever recorded. */
  const results = new Set<string>();
  /** Tasks that continued with other work when they were committed: then the result is in no row. */
  const unrecorded = new Set<string>();
  /** By row and counter: code that was begun. */
  const begun = new Set<string>();
  /** By row and counter: code that returned, or went to commit. */
  const ended = new Set<string>();

  function onApplied(event: Applied): void {
    const { row, before, after } = event;
    if (after === undefined) {
      report('I15', row, `deleted by a request of ${event.process}`);
      rows.delete(row);
      return;
    }
    rows.set(row, after);
    const result = textOf(after.result);
    if (result !== undefined) results.add(`${row} ${result}`);
    if (before !== undefined && isArrival(before, after)) return;
    const verb = verbOf(event);
    if (before === undefined) {
      spent.set(row, 0);
      if (after.state !== 'ready') report('I15', row, `appeared as ${String(after.state)}`);
      if (after.attempts !== 0) report('I18', row, `appeared with ${String(after.attempts)} attempts`);
      return;
    }
    if (verb === 'task.enqueue') report('I19', row, `was ${String(before.state)} and was enqueued over`);
    if (verb === 'task.leaveLine' && keepsPlace(before) && after.state === 'cancelled' && !keepsPlace(after)) return;
    if (verb === 'task.revive' || verb === 'task.renew') onRevived(event, before, after);
    else if (ENDED.has(before.state))
      report('I16', row, `was ${String(before.state)} and was changed to ${String(after.state)}`);
    else if (after.state === 'running') onRunning(event, before, after);
    else if (ENDED.has(after.state)) onEnded(event, before, after);
    else onReady(event, before, after);
  }

  /** One claim is one attempt: what its code has done is not done again under its right. */
  function onBegan({ row, token, process }: Ran): void {
    const name = `${row} ${token}`;
    if (begun.has(name)) report('I14', row, `was begun a second time under counter ${token}, by ${process}`);
    begun.add(name);
  }

  /** A new generation: it has all its attempts again, and the counter continues. */
  function onRevived(event: Applied, before: DynamoItem, after: DynamoItem): void {
    const { row } = event;
    const mayBe = ENDED.has(before.state) && (before.state !== 'done' || verbOf(event) === 'task.renew');
    if (!mayBe) report('I16', row, `was ${String(before.state)} and was brought back`);
    if (Number(after.generation) !== Number(before.generation ?? 0) + 1 || after.attempts !== 0)
      report(
        'I16',
        row,
        `was brought back as generation ${String(after.generation)} after ${String(before.generation)}`,
      );
    spent.set(row, 0);
  }

  function onRunning(event: Applied, before: DynamoItem, after: DynamoItem): void {
    const { row } = event;
    const isSameClaim =
      before.state === 'running' && before.leaseCounter === after.leaseCounter && before.session === after.session;
    if (isSameClaim) return;
    if (before.state === 'running') {
      onTakenFrom(row, before, `taken over by session ${String(after.session)}`);
      onDeath(row, before, after);
    }
    if (Number(after.leaseCounter) !== Number(before.leaseCounter) + 1)
      report(
        'I14',
        row,
        `a claim moved the counter from ${String(before.leaseCounter)} to ${String(after.leaseCounter)}`,
      );
    const claims = (spent.get(row) ?? 0) + 1;
    spent.set(row, claims);
    const bound = assumptions.maxAttempts(String(after.name));
    if (claims > bound) report('I18', row, `claimed ${claims} times, ${bound} are allowed`);
    if (Number(after.attempts) !== claims)
      report('I18', row, `counts ${String(after.attempts)} attempts after ${claims} claims`);
  }

  /** Its holder died, and it is given another: then one more death is allowed. */
  function onDeath(row: string, before: DynamoItem, after: DynamoItem): void {
    const deaths = Number(before.deaths ?? 0) + 1;
    const bound = assumptions.maxDeaths(String(after.name));
    if (Number(after.deaths) !== deaths) report('I18', row, `counts ${String(after.deaths)} deaths after ${deaths}`);
    if (deaths >= bound) report('I18', row, `was taken over after ${deaths} deaths, ${bound} are allowed`);
  }

  /** A worker that takes a running task away, or buries it, must have found its session dead. */
  function onTakenFrom(row: string, before: DynamoItem, what: string): void {
    const session = String(before.session);
    if (live.has(session)) report('I14', row, `${what} while session ${session} lives`);
  }

  function onReady(event: Applied, before: DynamoItem, after: DynamoItem): void {
    if (before.state !== 'running') {
      // A parent that waited was cancelled, and continues with its follower.
      if (before.follower !== undefined && after.follower === undefined) spent.set(event.row, 0);
      return;
    }
    if (before.follower !== undefined) {
      onFollowed(event, before, after);
      return;
    }
    if (Number(after.attempts) < Number(before.attempts)) spent.set(event.row, (spent.get(event.row) ?? 0) - 1);
    mustBeHolder('I5', event, before);
  }

  /** The attempt has ended, and another piece of work goes on under the id: with all its attempts. */
  function onFollowed(event: Applied, before: DynamoItem, after: DynamoItem): void {
    const { row } = event;
    const verb = verbOf(event);
    if (verb === 'task.markDead' || verb === 'task.cancel') onTakenFrom(row, before, verb);
    else mustBeHolder('I5', event, before);
    const isDone = verb === 'task.complete' || verb === 'task.commit';
    if (isDone && !ended.has(`${row} ${String(before.leaseCounter)}`))
      report('I16', row, `was ended under counter ${String(before.leaseCounter)}, and its code did not end under that`);
    if (after.attempts !== 0) report('I18', row, `goes on with other work after ${String(after.attempts)} attempts`);
    if (verb === 'task.commit') unrecorded.add(row);
    spent.set(row, 0);
  }

  function onEnded(event: Applied, before: DynamoItem, after: DynamoItem): void {
    const { row } = event;
    const verb = verbOf(event);
    if (before.state !== 'running') {
      const isCalledOff = after.state === 'cancelled' && (verb === 'task.cancel' || verb === 'task.expire');
      if (!isCalledOff) report('I16', row, `became ${String(after.state)} without having been claimed`);
      if (verb === 'task.expire' && Number(after.attempts) > 0 && before.expiresAt === undefined)
        report('I16', row, 'expired although it had been started');
    } else if (verb === 'task.markDead' || verb === 'task.cancel') onTakenFrom(row, before, verb);
    else mustBeHolder('I16', event, before);
    if (after.state === 'done' && !ended.has(`${row} ${String(before.leaseCounter)}`))
      report('I16', row, `is done under counter ${String(before.leaseCounter)}, and its code did not end under that`);
    if (after.readyKey !== undefined) report('I15', row, 'ended and still stands in the ready index');
    if (after.ttl === undefined && !keepsPlace(after)) report('I15', row, 'ended and will never be swept');
  }

  function mustBeHolder(invariant: string, event: Applied, before: DynamoItem): void {
    const claim = event.operation === undefined ? undefined : calls.get(event.operation)?.claim;
    if (claim === undefined) report(invariant, event.row, `${verbOf(event)} settled it without naming a claim`);
    else if (claim.token !== before.leaseCounter || claim.session !== before.session)
      report(
        invariant,
        event.row,
        `${verbOf(event)} under counter ${claim.token} settled it; ${String(before.leaseCounter)} was current`,
      );
  }

  function verbOf(event: Applied): string {
    return (event.operation === undefined ? undefined : calls.get(event.operation)?.verb) ?? 'a write';
  }

  function onSwept({ row, before }: Swept): void {
    rows.delete(row);
    acknowledged.delete(row);
    if (!ENDED.has(before.state)) report('I15', row, `swept while ${String(before.state)}`);
  }

  function onAcknowledged({ row, what, value }: Acknowledged): void {
    if (!isTask(row)) return;
    if (what === 'enqueued') {
      acknowledged.add(row);
      if (!rows.has(row)) report('I17', row, 'its enqueuing was acknowledged, and it is not there');
    }
    if (what === 'committed' && value !== undefined && !results.has(`${row} ${value}`) && !unrecorded.has(row))
      report(
        'I17',
        row,
        `a commit of ${value} was acknowledged; the row says ${String(textOf(rows.get(row)?.result))}`,
      );
  }

  return {
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      else if (event.kind === 'acknowledged') onAcknowledged(event);
      else if (event.kind === 'began' && rows.has(event.row)) onBegan(event);
      else if (event.kind === 'ended') ended.add(`${event.row} ${event.token}`);
      else if (event.kind === 'swept' && isTask(event.row)) onSwept(event);
      else if (event.kind === 'swept' && isSession(event.row)) live.delete(String(event.before.id));
      else if (event.kind === 'applied' && isTask(event.row)) onApplied(event);
      else if (event.kind === 'applied' && isSession(event.row)) {
        if (event.after?.status === 'live') live.add(String(event.after.id));
        else live.delete(String(event.before?.id));
      }
    },
    end() {
      for (const row of acknowledged)
        if (!rows.has(row)) report('I15', row, 'its enqueuing was acknowledged, and it is lost');
    },
  };
};
