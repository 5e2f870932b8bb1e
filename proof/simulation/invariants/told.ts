/**
 * Responses to callers stay true, for ids that two callers request at once:
 *   CREATED  one caller a work learns that it created it, and the work is begun once;
 *   TOLD     work that was acknowledged is in its row, and is not cancelled by an act that had not seen it: an operator's second try, after
 *            a first one without a response. So it runs, unless a later caller learned that it was replaced or cancelled.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied, Called, Returned } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask, textOf } from './rule.ts';

/** Beginning of the ids that two callers ask for. */
export const RIVAL_ID = 'rival';

/** One request's work. */
interface Work {
  begun: number;
  told: number;
  /** Whether it was in the row, as its work or as its follower. */
  isGiven: boolean;
  isAcknowledged: boolean;
  /** Replacements of its row by others when it was requested: of several at once, the older may be reported as replaced. */
  askedAfter: number;
  isCancelledUnseen: boolean;
}

export const told: Family = (_assumptions, report) => {
  const works = new Map<number, Work>();
  const calls = new Map<number, Called>();
  /** By row: how often its work, or what follows it, was replaced. */
  const replacements = new Map<string, number>();
  /** Acts on a row, by process: one of their writes got no response. */
  const unsure = new Set<string>();

  const workOf = (ask: number): Work => {
    const fresh = { begun: 0, told: 0, isGiven: false, isAcknowledged: false, askedAfter: 0, isCancelledUnseen: false };
    const work = works.get(ask) ?? fresh;
    works.set(ask, work);
    return work;
  };

  function judge(
    row: string,
    ask: number,
    { begun, told: times, isGiven, isAcknowledged, isCancelledUnseen, askedAfter }: Work,
  ): void {
    if (begun > 1) report('CREATED', row, `the work of request ${ask} was begun ${begun} times`);
    if (times > begun)
      report('CREATED', row, `request ${ask} was told that it created work, which was begun ${begun} times`);
    const isOverridden = (replacements.get(row) ?? 0) > askedAfter;
    if (isAcknowledged && !isGiven && !isOverridden)
      report('TOLD', row, `request ${ask} was acknowledged, and its work was never in the row`);
    if (isAcknowledged && isCancelledUnseen)
      report('TOLD', row, `the work of request ${ask} was acknowledged, and cancelled by an act that had not seen it`);
  }

  function onApplied({ row, before, after, operation, process }: Applied): void {
    const verb = operation === undefined ? undefined : calls.get(operation)?.verb;
    const ask = askOf(after);
    const follower = askOf(after?.follower as DynamoItem | undefined);
    if (verb === 'task.replace' || verb === 'task.follow') replacements.set(row, (replacements.get(row) ?? 0) + 1);
    for (const given of [ask, follower]) if (given !== undefined) workOf(given).isGiven = true;
    if (ask === undefined) return;
    const work = workOf(ask);
    if ((verb === 'task.enqueue' && before === undefined) || verb === 'task.renew') work.begun++;
    if (verb === 'task.cancel' && before?.state === 'ready' && unsure.has(`${process} ${row}`))
      work.isCancelledUnseen = true;
    judge(row, ask, work);
  }

  function onTold({ row, process, what, value = '{}' }: Acknowledged): void {
    if (what !== 'asked' && what !== 'told') return;
    const { ask = 0, as } = JSON.parse(value) as { readonly ask?: number; readonly as?: string };
    const work = workOf(ask);
    if (what === 'asked') {
      unsure.delete(`${process} ${row}`);
      work.askedAfter = replacements.get(row) ?? 0;
      return;
    }
    work.isAcknowledged = true;
    if (as === 'created') work.told++;
    judge(row, ask, work);
  }

  function onReturned({ operation, outcome }: Returned): void {
    const call = calls.get(operation);
    if (call?.verb === 'task.cancel' && outcome === 'refusedUnsure') unsure.add(`${call.process} ${call.row}`);
  }

  return {
    on(event) {
      if (event.kind === 'called' && isRival(event.row)) calls.set(event.operation, event);
      else if (event.kind === 'returned') onReturned(event);
      else if (event.kind === 'applied' && isRival(event.row)) onApplied(event);
      else if (event.kind === 'acknowledged') onTold(event);
    },
  };
};

function isRival(row: string): boolean {
  return isTask(row) && row.includes(`#${RIVAL_ID}`);
}

function askOf(item: DynamoItem | undefined): number | undefined {
  const text = textOf(item?.input);
  return text === undefined ? undefined : (JSON.parse(text) as { readonly ask?: number } | null)?.ask;
}
