/**
 * Maps statements to the operators of `Rows.tla`, `SharedRows.tla` and `QueueRows.tla`,
 * with the digest of the statement that each operator was written from.
 *
 * `statements.digest.json` holds the digests; `proof/spec/digest.long.test.ts` compares them with the golden statements. When it fails,
 * read the statement and its operator side by side, change the operator if the meaning has changed, and then write the digests with
 * `npm run spec -- --digest`. The page in this folder (`README.md`) has the steps.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const GOLDEN = path.join(import.meta.dirname, '../../test/unit/dynamo/statements.golden.txt');
const DIGESTS = path.join(import.meta.dirname, 'statements.digest.json');
const ROWS = ['Rows.tla', 'SharedRows.tla', 'QueueRows.tla'];

/** Operators for each verb: guard, then effect, then the operators of other rows in its transaction. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  'lock.acquire': ['CanAcquire', 'Acquired'],
  'lock.bar': ['CanBar', 'Barred'],
  'lock.disown': ['IsHeldBy', 'Disowned'],
  'lock.force': ['IsHeldBy', 'Forced'],
  'lock.release': ['IsHeldBy', 'Released'],
  'lock.settle': ['IsHeldBy', 'Settled'],
  'lock.takeOver': ['IsHeldBy', 'TakenOver'],
  'session.create': ['CanCreate', 'Created'],
  'session.expire': ['CanExpire', 'Invalidated'],
  'session.invalidate': ['CanInvalidate', 'Invalidated'],
  'session.renew': ['CanRenew', 'Renewed'],
  'task.bar': ['IsMyLater', 'Progressed'],
  'task.markDead': ['IsObserved', 'Finished'],
  'task.cancel': ['IsUntouched', 'Finished', 'CanPass', 'LinePassed'],
  'task.claim': ['CanClaim', 'Taken', 'HasRoom', 'KeyEntered'],
  'task.commit': ['IsMyLater', 'Finished'],
  'task.complete': [
    ...['IsMine', 'Finished', 'CanLeaveKey', 'KeyLeft', 'CanPass', 'LinePassed'],
    ...['CanCountDown', 'CanCountLast', 'CountedDown'],
    ...['CanWake', 'IsNotWaiting', 'Woken'],
  ],
  'task.discard': ['IsMine', 'Finished'],
  'task.expire': ['IsUntouched', 'Finished'],
  'task.giveUp': ['IsMine', 'Finished'],
  'task.progress': ['IsMyLater', 'Progressed'],
  'task.promote': ['IsMine', 'IsUntouched', 'Freed'],
  'task.release': ['IsMine', 'Freed'],
  'task.renew': ['CanRevive', 'Revived'],
  'task.replace': ['IsUntouched'],
  'task.reschedule': ['IsUntouched'],
  'task.retry': ['IsMine', 'Freed'],
  'task.revive': ['CanRevive', 'Revived', 'CanWaitAgain'],
  'task.snooze': ['IsMine', 'Freed'],
  'task.takeOver': ['IsObserved', 'Taken'],
  'task.wait': ['IsMyLater', 'Freed'],
  'batch.create': ['IsAbsent'],
  'line.pass': ['CanPass', 'LinePassed'],
  'ratelimit.take': ['CanTake', 'Took'],
  'ratelimit.takeFromFull': ['CanTakeFull', 'TookFull'],
  'schedule.advance': ['CanAdvanceSchedule', 'ScheduleAdvanced'],
  'schedule.make': ['CanAdvanceSchedule', 'ScheduleAdvanced', 'IsAbsent'],
  'tick.take': ['IsAbsent'],
  'journal.put': ['PartPut'],
  'task.arrive': ['CanArrive', 'Arrived'],
  'task.checkpoint': ['CanWriteJournal', 'HasSeen', 'Checkpointed'],
  'task.enqueue': ['IsAbsent', 'CanJoin', 'LineJoined'],
  'task.join': ['CanJoinOthers', 'TaskJoined'],
  'task.leaveLine': ['CanLeaveLine', 'LineLeft'],
  'task.spill': ['CanWriteJournal', 'HasSeen', 'Spilled'],
  'task.suspend': ['CanWriteJournal', 'HasSeen', 'Suspended'],
  'waitgroup.add': ['IsGroupIn', 'MemberAdded'],
  'waitgroup.begin': ['IsGroupIn', 'GroupBegun'],
  'waitgroup.complete': ['IsGroupIn', 'GroupCompleted'],
  'waitgroup.create': ['IsAbsent'],
  'waitgroup.done': ['IsPending', 'MemberEnded'],
  'waitgroup.lease': ['CanLease', 'MemberLeased'],
  'waitgroup.lose': ['CanLose', 'MemberEnded'],
  'waitgroup.seal': ['IsGroupIn', 'GroupSealed'],
};

/** Rows whose statements the specification leaves out, and omitted verbs of modelled rows. Reads have no effect. */
const OUTSIDE: Readonly<Record<string, string>> = {
  'arrival.': 'what arrives for a durable task is a row beside the protocol',
  'audit.': 'a record for people',
  'batch.recount': 'repairs a number that another program has written',
  'epoch.': 'only on a table at rest: it lifts counters without a holder',
  'failure.': 'past failures are rows beside the protocol',
  'journal.expire': 'rows of older elements of a done task, which nobody claims again',
  'key.recount': "an operator's repair of a count that no write of the models makes wrong",
  'lock.acquireAll': 'several acquires in one transaction, each as it was observed',
  'lock.commit': 'a value of a free key',
  'lock.put': 'a value of a free key',
  'lock.remove': 'a value of a free key',
  'lock.update': 'the value of a held key',
  'payload.': 'inputs are rows beside the protocol',
  'queue.': 'what workers know of a queue; no right depends on it',
  'schedule.put': 'defines a schedule; Schedule.tla has one that is defined',
  'schedule.remove': 'likewise',
  'schedule.pause': 'likewise; and one that is paused is advanced by nobody',
  'schedule.resume': 'likewise',
  'semaphore.': 'Semaphore.tla has a model of its own, which is not tied to the statements by operators',
  'session.renewRemote': 'sessions whose holder is beyond a gateway are not specified yet',
  'task.barNew':
    'bars copies of an enqueue that was refused: its task is made by another nonce, and the row counts as absent for that one',
  'task.beat': 'a sign of life of what a durable task waits for, which changes no right',
  'task.follow': 'a wish for when the attempt ends, which changes no right',
  'task.requestCancel': 'a wish, which changes no right',
};

const READS = /\.(due|get|getMany|getWithSession|glance|members|page|pageOfDead|pageOfEnded|pageOfGroups)$/;

function digestsOfGolden(): ReadonlyMap<string, string> {
  const sections = readFileSync(GOLDEN, 'utf8').split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const end = section.indexOf('\n');
      const text = section.slice(end).trim();
      return [section.slice(0, end).trim(), createHash('sha256').update(text).digest('hex').slice(0, 16)] as const;
    }),
  );
}

/** Describes the disagreements between specification and statements; empty: they agree. */
export function disagreements(): readonly string[] {
  const golden = digestsOfGolden();
  const written = JSON.parse(readFileSync(DIGESTS, 'utf8')) as Readonly<Record<string, string>>;
  const rows = ROWS.map((name) => readFileSync(path.join(import.meta.dirname, name), 'utf8')).join('\n');
  const unplaced = [...golden.keys()].filter((verb) => !(verb in OPERATORS) && !isOutside(verb));
  const gone = Object.keys(OPERATORS).filter((verb) => !golden.has(verb));
  const changed = Object.entries(OPERATORS).filter(([verb]) => golden.has(verb) && golden.get(verb) !== written[verb]);
  const operators = new Set(Object.values(OPERATORS).flat());
  return [
    ...unplaced.map(
      (verb) => `${verb} is new: give it an operator in proof/spec/verbs.ts, or say there why it is outside`,
    ),
    ...gone.map((verb) => `${verb} has an operator, and no statement in the golden file`),
    ...changed.map(
      ([verb, names]) => `${verb} has changed: compare it with ${names.join(', ')} in proof/spec/*Rows.tla`,
    ),
    ...[...operators]
      .filter((name) => !rows.includes(`\n${name}(`))
      .map((name) => `no proof/spec/*Rows.tla has ${name}`),
  ];
}

function isOutside(verb: string): boolean {
  return (
    READS.test(verb) ||
    Object.keys(OUTSIDE).some((what) => verb === what || (what.endsWith('.') && verb.startsWith(what)))
  );
}

/** Declares the operators to be right for the statements as they are. */
export function writeDigests(): void {
  const golden = digestsOfGolden();
  const entries = Object.keys(OPERATORS).map((verb) => [verb, golden.get(verb) ?? '']);
  writeFileSync(DIGESTS, `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`);
}
