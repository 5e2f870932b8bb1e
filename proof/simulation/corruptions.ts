/** Damage that can be done to a right history, by the rule that must notice it. */
import type { Acknowledged, Applied, HistoryEvent, Sent, Stepped } from './history.ts';
import { USER_TABLE } from './rows.ts';
import { RECEIPT_PREFIX } from './invariants/effects.ts';
import { passedBy, PASSED_BY_PAGES } from './bounds.ts';
import { isTask } from './invariants/rule.ts';
import { TAKEN_LIMIT } from './invariants/tenants.ts';
import type { Corruption } from './damage.ts';
import {
  applied,
  acknowledged,
  changed,
  without,
  withAfter,
  followedBy,
  isClaimed,
  isPlainClaim,
  isRead,
  isSent,
  isDone,
  isRetried,
  isToldCreated,
  isRenewed,
  isOpened,
  isLocked,
  isAdmitted,
  isRow,
  isHinted,
  withoutCallbacks,
  swept,
  ended,
  called,
  told,
  claimIn,
  copies,
  laterClaims,
} from './damage.ts';

const hasJournal = applied(
  ({ row, before, after }) =>
    isTask(row) &&
    before?.state === 'running' &&
    (before.journal as readonly unknown[] | undefined)?.length === 1 &&
    after?.journal !== undefined &&
    after.journalParts === undefined,
);
const isRecorded = (event: HistoryEvent): event is Stepped =>
  event.kind === 'recorded' && /^(?:step|effect)/.test(event.op);
const isAccepted = (event: HistoryEvent): event is Acknowledged =>
  event.kind === 'acknowledged' && event.what === 'answered' && event.value?.includes('"accepted"') === true;

/** By rule: at least one kind of damage that it must notice, whatever else does. */
export const CORRUPTIONS: Readonly<Record<string, Readonly<Record<string, Corruption>>>> = {
  I0: {
    'a refusal of what was applied': (history, prng) => {
      const ofTasks = new Set(
        history.flatMap((event) => (event.kind === 'called' && isTask(event.row) ? [event.operation] : [])),
      );
      return changed(
        (event): event is Extract<HistoryEvent, { kind: 'returned' }> =>
          event.kind === 'returned' && event.outcome === 'applied' && ofTasks.has(event.operation),
        (event) => [{ ...event, outcome: 'refused' }],
      )(history, prng);
    },
    'a refusal of the holder of a task after an unresolved write that was never applied': changed(
      isClaimed,
      (event) => [
        ...[event, called(event, -1, 'task.progress', claimIn(event)), told(event, -1, 'unknown')],
        ...[called(event, -2, 'task.complete', claimIn(event)), told(event, -2, 'refused')],
      ],
    ),
    'a claim that is missing': changed(isClaimed, () => []),
    'an acknowledged end that is lost': (history, prng) => {
      const confirmed = new Set(
        history.flatMap((event) => (event.kind === 'returned' && event.outcome === 'applied' ? [event.operation] : [])),
      );
      return changed(
        applied((event) => isDone(event) && event.operation !== undefined && confirmed.has(event.operation)),
        () => [],
      )(history, prng);
    },
    'a refusal of the holder of a lock': changed(isLocked, (event) => [
      ...[event, called(event, -1, 'lock.release', claimIn(event)), told(event, -1, 'refused')],
    ]),
  },
  I1: {
    'a grant while another believes': changed(isClaimed, (event) => [
      { kind: 'believes', at: event.at, process: 'early', row: event.row, token: 1, session: 'early' },
      event,
    ]),
    'a holder that acts on a permit after hearing that it was evicted': changed(isAdmitted, (event) => {
      const right = { row: event.row, token: Number(event.after?.leaseCounter), session: 'evicted' };
      const renewed: Applied = { ...ended(event, right.session, 0), operation: -2, at: event.at + 1 };
      const renewal = { ...called(renewed, -2, 'session.renew'), session: right.session };
      return [
        ...[event, called(event, -1, 'semaphore.evict', right), { ...followedBy(event, {}), operation: -1 }],
        ...[renewal, { ...renewed, after: renewed.before }, told(renewed, -2, 'applied')],
        { kind: 'acted', at: renewed.at, process: event.process, ...right },
      ];
    }),
  },
  I1b: {
    'a request without belief': changed(isSent, (event) => [{ ...event, believed: false }]),
  },
  I2: {
    'an effect that happens twice': changed(
      applied(({ row }) => row.startsWith(RECEIPT_PREFIX)),
      (event) => [withAfter(event, { count: 2 })],
    ),
    'an effect beside the end of its task': changed(
      applied(({ row }) => row.startsWith(RECEIPT_PREFIX)),
      (event) => [{ ...event, request: -1 }],
    ),
    'an order without its task': without(
      applied(({ row, before }) => /task#jobs#order\d+$/.test(row) && before === undefined),
    ),
  },
  I2b: {
    'progress that is overwritten': (history, prng) => {
      const rows = new Map(history.flatMap((event) => (event.kind === 'applied' ? [[event.row, event] as const] : [])));
      return changed(acknowledged('progress'), (event) => {
        const written = rows.get(event.row);
        const older = JSON.stringify({ token: 0, step: 0 });
        return written === undefined ? [event] : [event, followedBy({ ...written, at: event.at }, { progress: older })];
      })(history, prng);
    },
    'an entry that is lost': changed(isRow('inventory/register-'), (event) => [
      withAfter(event, { entries: ['another'] }),
    ]),
    'an entry that was acknowledged and never written': changed(acknowledged('added'), (event) => [
      { ...event, value: 'another' },
    ]),
  },
  I3: {
    'a counter that goes back': changed(isClaimed, (event) => [withAfter(event, { leaseCounter: 1 })]),
  },
  I4: { 'a renewal by another process': changed(isRenewed, (event) => [{ ...event, process: 'impostor' }]) },
  I5: {
    'a task given back by no call': changed(isRetried, (event) => [{ ...event, operation: undefined }]),
    'a key of the living that another tidies away': changed(isLocked, (event) => [
      ...[event, called(event, -1, 'lock.settle', claimIn(event))],
      { ...followedBy(event, { session: undefined }), operation: -1, process: 'another' },
    ]),
  },
  I6: {
    'a session that is expired early': changed(isRenewed, (event) => [
      event,
      followedBy(event, { status: 'invalid', reason: 'expired', invalidatedAt: event.after?.expiresAt }),
    ]),
  },
  I7: {
    'a key that is granted during its lock-delay': changed(isLocked, (event) => [
      event,
      ended(event, String(event.after?.session), 60_000),
      followedBy(event, { session: 'another', leaseCounter: Number(event.after?.leaseCounter) + 1 }),
    ]),
  },
  I8: {
    'a key that is taken from the living': changed(isLocked, (event) => [
      event,
      followedBy(event, { session: 'another', leaseCounter: Number(event.after?.leaseCounter) + 1 }),
    ]),
  },
  I9: {
    'a write under an old claim': changed(isDone, (event) => [
      {
        ...event,
        operation: undefined,
        before: event.before,
        after: { ...event.before, session: 'another', leaseCounter: Number(event.before?.leaseCounter) + 1 },
      },
      event,
    ]),
  },
  I11: {
    'a permit beyond the limit': changed(isAdmitted, (event) => [withAfter(event, { limit: 0, free: -1 })]),
    'room that is counted wrong': changed(isAdmitted, (event) => [
      withAfter(event, { free: Number(event.after?.free) + 1 }),
    ]),
    'a token of a permit that is given twice': changed(isAdmitted, (event) => [
      withAfter(event, { leaseCounter: event.before?.leaseCounter ?? 0 }),
    ]),
    'a permit that vanishes': changed(isAdmitted, (event) => [
      event,
      followedBy(event, { holders: {}, free: event.after?.limit }),
    ]),
  },
  I12: {
    'a limit that takes holders along': changed(isAdmitted, (event) => {
      const limit = Number(event.after?.limit) + 1;
      return [event, followedBy(event, { limit, free: limit, holders: {} })];
    }),
  },
  I13: {
    'a member that is added to a group that is over': changed(
      applied(({ row, after }) => row.startsWith('waitgroup#') && after?.state === 'complete'),
      (event) => {
        const row = `${event.row}#${String(event.after?.generation)}/member#late`;
        return [event, { ...event, row, before: undefined, after: { state: 'pending' } }];
      },
    ),
    'a group that is over too early': changed(
      applied(({ row, after }) => row.startsWith('waitgroup#') && after?.state === 'sealed'),
      (event) => [event, followedBy(event, { state: 'complete', members: 99, lost: 0 })],
    ),
    'a wait that ends too early': changed(
      applied(({ row, after }) => row.startsWith('waitgroup#') && after?.state === 'open'),
      (event) => {
        const value = JSON.stringify({ generation: event.after?.generation, members: 0, lost: 0 });
        return [event, { kind: 'acknowledged', at: event.at, process: 'early', what: 'waited', row: event.row, value }];
      },
    ),
    'a member that ends twice': changed(
      applied(({ row, after }) => row.startsWith('waitgroup#') && after?.state === 'done'),
      (event) => [event, { ...event, before: event.after }],
    ),
  },
  I14: {
    'a grant too many': changed(isClaimed, (event) => [
      event,
      followedBy(event, { session: 'another', leaseCounter: Number(event.after?.leaseCounter) + 1 }),
    ]),
  },
  I15: { 'a running task that is swept': changed(isClaimed, (event) => [event, swept(event)]) },
  I16: {
    'a claim and the end of its task, swapped': (history, prng) => {
      const ended = new Set(history.flatMap((event) => (isDone(event) ? [event.row] : [])));
      const claims = history.flatMap((event, at) => (isClaimed(event) && ended.has(event.row) ? [{ event, at }] : []));
      if (claims.length === 0) return undefined;
      const { event, at } = prng.pick(claims);
      const end = history.findIndex((other, after) => after > at && isDone(other) && other.row === event.row);
      return end < 0 ? undefined : history.with(at, history[end]!).with(end, event);
    },
    'a completion that is applied twice': changed(isDone, (event) => [event, followedBy(event, {})]),
    'a task that is done without having run': without((event) => event.kind === 'ended'),
  },
  I17: {
    'a commit that was acknowledged and is not there': (history, prng) => {
      // A task that went on with other work keeps no result of its commit.
      const isNextGeneration = applied(
        ({ before, after }) => Number(after?.generation ?? 0) > Number(before?.generation ?? 0),
      );
      const wentOn = new Set(history.flatMap((event) => (isNextGeneration(event) ? [event.row] : [])));
      return changed(
        (event): event is Acknowledged =>
          acknowledged('committed')(event) && isTask(event.row) && !wentOn.has(event.row),
        (event) => [{ ...event, value: '{"token":0}' }],
      )(history, prng);
    },
  },
  I18: {
    'a claim that is not counted': changed(isClaimed, (event) => [withAfter(event, { attempts: 0 })]),
  },
  I19: {
    'a claim that changes what is to be done': changed(isClaimed, (event) => [
      withAfter(event, { input: '{"kind":"other"}' }),
    ]),
  },
  CREATED: {
    'a caller that is told of work that another began': changed(isToldCreated, (event) => [event, event]),
  },
  TOLD: {
    'work that was acknowledged and is in no row': changed(acknowledged('told'), (event) => [
      // A work of its own row: another may be told that it was replaced.
      { ...event, row: `${event.row}-untouched`, value: JSON.stringify({ ask: -1, as: 'accepted' }) },
    ]),
  },
  I20: {
    'a tick that is dispatched twice': changed(acknowledged('dispatched'), (event) => [
      event,
      { ...event, process: 'another' },
    ]),
  },
  I22: { 'a session that is made twice': changed(isOpened, (event) => [event, { ...event, process: 'another' }]) },
  I23: {
    'an expiry beyond reason': changed(isOpened, (event) => [
      withAfter(event, { expiresAt: Number(event.after?.expiresAt) + 100_000 }),
    ]),
  },
  I24: {
    'a task row that is damaged': changed(isClaimed, (event) => [withAfter(event, { priority: 'urgent' })]),
  },
  I25: {
    'a row that is swept while it is in use': changed(isDone, (event) => [event, swept(event)]),
  },
  RETRY: {
    'a request that is sent again though it was answered': changed(isSent, (event) => [
      event,
      { ...event, operation: undefined, previous: 'answered' },
    ]),
    'a request that is sent again a moment after it was sent': changed(isSent, (event) => [
      event,
      { ...event, operation: undefined, previous: 'givenUp', previousAt: event.at - 1 },
    ]),
  },
  BEAT: {
    'a session that is renewed twice in one heartbeat': changed(isRenewed, (event) => [
      event,
      ...[-1, -2].flatMap((operation) => [
        called(event, operation, 'session.renew'),
        told(event, operation, 'applied'),
      ]),
    ]),
  },
  LOAD: {
    'requests in a loop': changed(isSent, (event) =>
      copies(20_000, (index): Sent => ({ ...event, at: event.at + index / 10, previous: undefined })),
    ),
    'a read that is charged for much': changed(isRead, (event) => [{ ...event, readUnits: 20_000 }]),
  },
  CREEP: {
    'index queries in a loop': changed(isRead, (event) =>
      copies(600, (index) => ({ ...event, at: event.at + index, process: 'looping', isPoll: true as const })),
    ),
  },
  CROWD: {
    'claims that another worker has won': changed(isClaimed, (event) => [
      event,
      ...copies(400, (index) => ({
        ...event,
        kind: 'refused' as const,
        operation: undefined,
        request: -1 - index,
        found: event.after,
        values: { ':ready': 'ready', ':observedCounter': 0, ':session': 'late' },
      })),
    ]),
  },
  LATE: {
    'later tasks that begin before one of a crashed worker': changed(isPlainClaim, (event) => [
      event,
      ...laterClaims(event, passedBy({ concurrency: 10, shards: 2 }), () => event.at + 100_000),
    ]),
    'later tasks that begin before the oldest that waits': changed(isPlainClaim, (event) => [
      ...laterClaims(event, PASSED_BY_PAGES + 2, (index) => event.at + Math.min(index, 1) * 100_000),
      event,
    ]),
  },
  JOURNAL: {
    'a journal that loses what it had': changed(hasJournal, (event) => [withAfter(event, { journal: [] })]),
  },
  ONCE: {
    'a step that runs again': changed(isRecorded, (event) => [event, { ...event, kind: 'stepped' }]),
  },
  ARRIVE: {
    'an accepted answer that is lost': changed(isAccepted, (event) => [
      { ...event, value: JSON.stringify({ ...(JSON.parse(event.value ?? '{}') as object), text: 'another' }) },
    ]),
  },
  OPEN: { 'an answer that is accepted twice': changed(isAccepted, (event) => [event, event]) },
  CHILD: {
    'a start whose task is not there': changed(
      applied(({ before, after }) => before === undefined && after?.notify !== undefined),
      () => [],
    ),
  },
  EFFECT: {
    'a write that was applied twice': changed(
      applied(({ row }) => row.startsWith(`${USER_TABLE}/step-`)),
      (event) => [withAfter(event, { count: 2 })],
    ),
  },
  BATCH: {
    'a child that is counted twice': changed(isRow('batch#'), (event) => [
      withAfter(event, { pending: Number(event.after?.pending) - 1, done: Number(event.after?.done) + 1 }),
    ]),
    'a callback that does not come': withoutCallbacks,
    'a callback that does not come before its batch is swept': (history, prng) => {
      const rest = withoutCallbacks(history, prng) ?? [];
      const last = rest.findLast(applied(({ row, after }) => row.startsWith('batch#') && after?.pending === 0));
      return last === undefined ? undefined : [...rest, swept(last)];
    },
  },
  KEY: {
    'a place of a key that is not given back': changed(
      applied(({ row, before, after }) => row.startsWith('key#') && Number(after?.running) < Number(before?.running)),
      (event) => [withAfter(event, { running: event.before?.running })],
    ),
    'a key that begins more than its rate': changed(
      applied(({ row, after }) => row.startsWith('key#') && row.endsWith('#triple') && after?.started !== undefined),
      (event) => [withAfter(event, { started: 99 })],
    ),
  },
  ORDER: {
    'a task of a line that begins before its turn': changed(
      applied((event) => isClaimed(event) && event.after?.line !== undefined),
      (event) => {
        const late = { ...event, request: -1, operation: undefined, row: `${event.row}-late` };
        const waiting = {
          ...event.after,
          id: 'late',
          ticket: Number(event.after?.ticket) + 1,
          state: 'ready',
          attempts: 0,
        };
        const running = {
          ...waiting,
          state: 'running',
          attempts: 1,
          leaseCounter: Number(event.after?.leaseCounter) + 1,
        };
        return [
          event,
          { ...late, before: undefined, after: waiting },
          { ...late, request: -2, before: waiting, after: running },
        ];
      },
    ),
    'a task that ends and keeps the turn': changed(
      applied((event) => isRow('line#')(event) && event.before?.turn !== event.after?.turn),
      (event) => [withAfter(event, { turn: event.before?.turn })],
    ),
    'a ticket of no task': changed(isRow('line#'), (event) => [
      withAfter(event, { tail: Number(event.after?.tail) + 1 }),
    ]),
    'a task that is cancelled and loses its place': changed(
      applied(({ row, before, after }) => isTask(row) && before === undefined && after?.line !== undefined),
      (event) => [event, { ...followedBy(event, { state: 'cancelled', directoryKey: undefined }), request: -1 }],
    ),
    'tickets that are not in the order of the requests': changed(
      applied(({ row, before, after }) => isTask(row) && before === undefined && after?.line !== undefined),
      (event) => {
        const early = { ...event, request: -1, operation: undefined, row: `${event.row}-early`, at: event.at };
        const said: Acknowledged = {
          kind: 'acknowledged',
          at: 0, // before a call for the other
          process: 'early',
          what: 'enqueued',
          row: early.row,
        };
        return [withAfter(early, { ticket: Number(event.after?.ticket) + 1_000_000, id: 'early' }), said, event];
      },
    ),
  },
  RATE: {
    'tokens that had not flown in': changed(acknowledged('taken'), (event) => {
      const value = JSON.stringify({ tokens: 2, tookMs: 1 });
      return copies(10, () => ({ ...event, value }));
    }),
    'a bucket that is overdrawn': changed(isRow('ratelimit#'), (event) => [
      withAfter(event, { emptyAt: Number(event.after?.emptyAt) + 60_000 }),
    ]),
    'a bucket that is fuller than it can be': changed(isRow('ratelimit#'), (event) => [
      withAfter(event, { emptyAt: Number(event.after?.emptyAt) - 60_000 }),
    ]),
    'a take that is counted twice': changed(isRow('ratelimit#'), (event) => [
      { ...event, before: { ...event.before, emptyAt: 0, nonce: event.after?.nonce } },
    ]),
  },
  SLOT: {
    'a slot that is left out': changed(isRow('schedule#'), (event) => [
      withAfter(event, { readyAt: Number(event.after?.readyAt) + 60_000 }),
    ]),
  },
  OVERLAP: {
    'a task of a schedule that is stopped for an earlier run': changed(
      applied(
        ({ row, before, after }) =>
          isTask(row) && after?.schedule !== undefined && before?.state === 'running' && after.state === 'done',
      ),
      (event) => [
        withAfter(event, {
          state: 'cancelled',
          cancellation: { reason: 'replaced by often@1970-01-01T00:00:00.000Z' },
        }),
      ],
    ),
  },
  L5: {
    'a contender that enters before those in the queue': changed(isAdmitted, (event) => {
      const waiting = ['first/1@1'];
      return [{ ...event, before: { ...event.before, waiting }, after: { ...event.after, waiting } }];
    }),
  },
  PAYLOAD: {
    'a payload that is lost': changed(
      applied(({ row, before }) => row.startsWith('payload#') && before === undefined),
      (event) => [event, followedBy(event, undefined)],
    ),
    'a payload that is left behind': without(
      (event) =>
        (event.kind === 'called' && event.verb === 'payload.delete') ||
        (event.kind === 'applied' && event.row.startsWith('payload#') && event.after === undefined),
    ),
    'an object that is removed while its task waits': changed(acknowledged('stored'), (event) => [
      event,
      {
        kind: 'applied',
        at: event.at,
        process: event.process,
        request: -1,
        operation: undefined,
        copy: false,
        row: 'task#jobs#huge',
        before: undefined,
        after: {
          state: 'ready',
          attempts: 0,
          payload: { bytes: 1, digest: '', reference: event.row.replace('bucket/', '') },
        },
      },
      { ...event, what: 'removed' },
    ]),
  },
  TENANT: {
    'a tenant that waits for another': changed(
      applied(
        ({ row, before, after }) =>
          isTask(row) &&
          before === undefined &&
          after?.tenant !== undefined &&
          after.key === undefined &&
          after.line === undefined,
      ),
      (event) => [
        event,
        ...copies(TAKEN_LIMIT + 1, (index) => {
          const other = { ...event.after, tenant: 'greedy', state: 'ready' };
          return {
            ...event,
            at: event.at + 10_000,
            request: -1 - index,
            operation: undefined,
            row: 'task#jobs#greedy',
            before: other,
            after: { ...other, state: 'running', session: 'one' },
          };
        }),
      ],
    ),
  },
  HINT: {
    'a hint that changes the nonce of the queue': changed(isHinted, (event) => [withAfter(event, { nonce: 'hint' })]),
  },
};
