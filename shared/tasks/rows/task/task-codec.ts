import { assertNever } from '../../../core/errors.ts';
import { NAME_LIMIT_BYTES } from '../../../core/validate/options.ts';
import type { BatchKey } from '../../task/batch.ts';
import type { TakenTask } from '../../task/dedup.ts';
import type { KeyLimit } from '../../task/key-limit.ts';
import type { Follower, Payload } from '../../task/task.ts';
import type {
  JournalInRow,
  Notify,
  Cancellation,
  DoneTask,
  PastAttempt,
  Occurrence,
  TaskError,
  TaskLinks,
  TaskRecord,
} from '../../task/task.ts';
import { PAST_ATTEMPTS_KEPT, PRIORITIES, runIdOf } from '../../task/task.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { batchKey, lineKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { keptOptionsIn } from './attributes.ts';
import { isListed } from './ended-entries.ts';
import { isInGroup } from './place.ts';

const STATES = ['ready', 'running', 'done', 'dead', 'cancelled'] as const;

/** Decodes an existing task with a requested id: only the compared attributes of its row. @throws CorruptItemError */
export function decodeTaken(item: DynamoItem): TakenTask {
  const row = new ItemReader(item);
  return {
    name: row.string('name'),
    state: row.oneOf('state', STATES),
    createdAt: row.count('createdAt'),
    generation: row.optional('generation', (attribute) => row.count(attribute)) ?? 0,
    leaseCounter: row.count('leaseCounter'),
    createdBy: row.optional('createdBy', (attribute) => row.string(attribute)),
    tenant: row.optional('tenant', (attribute) => row.string(attribute)),
    links: {
      batch: row.optional('batch', (attribute) => row.string(attribute)),
      concurrency: row.optional('key', (attribute) => ({ key: String(row.map(attribute).key) })),
      line: row.optional('line', (attribute) => ({ key: row.string(attribute) })),
    },
    payload: row.nested('payload', decodePayload),
    input: row.json('input'),
  };
}

/** @throws CorruptItemError */
export function decodeTask(item: DynamoItem): TaskRecord {
  const row = new ItemReader(item);
  const count = (attribute: string): number => row.count(attribute);
  const queue = row.string('queue');
  const id = row.idOfQueue;
  const facts = {
    queue,
    id,
    runId: runIdOf(id, row.optional('work', count) ?? 1),
    name: row.string('name'),
    input: row.json('input'),
    priority: row.oneOf('priority', PRIORITIES),
    createdAt: row.count('createdAt'),
    createdBy: row.optional('createdBy', (attribute) => row.string(attribute)),
    attempts: row.count('attempts'),
    deaths: row.optional('deaths', count) ?? 0,
    failingSince: row.optional('failingSince', count),
    handBacks: row.optional('handBacks', count) ?? 0,
    leaseCounter: row.count('leaseCounter'),
    nonce: row.string('nonce'),
    progress: row.optional('progress', (attribute) => row.json(attribute)),
    lastError: row.nested('lastError', decodeError),
    generation: row.optional('generation', count) ?? 0,
    cancellation: row.nested('cancellation', decodeCancellation),
    session: row.optional('session', (attribute) => row.session(attribute)),
    claimedAt: row.optional('claimedAt', count),
    links: decodeLinks(row, queue),
    ...keptOptionsIn(row),
    payload: row.nested('payload', decodePayload),
    tenant: row.optional('tenant', (attribute) => row.string(attribute)),
    schedule: row.nested('schedule', decodeOccurrence),
    children: decodeChildren(row, queue),
    past: decodePast(row),
    follower: row.nested('follower', decodeFollower),
    ...(row.has('journal') && { journal: decodeJournal(row, 'journal') }),
  };
  row.ensureKey(['task', facts.queue, facts.id]);
  const state = row.oneOf('state', STATES);
  switch (state) {
    case 'ready':
      return {
        ...facts,
        state,
        readyAt: row.number('readyAt'),
        expiresAt: row.optional('expiresAt', count),
        isInGroup: isInGroup(item),
      };
    case 'running':
      return {
        ...facts,
        state,
        session: row.session('session'),
        claimedAt: row.count('claimedAt'),
        readyAt: row.number('readyAt'),
      };
    case 'done':
      return {
        ...facts,
        state,
        session: row.session('session'),
        finishedAt: row.count('finishedAt'),
        result: row.optional('result', (attribute) => row.json(attribute)),
        ...(row.has('spawned') && { spawned: decodeSpawned(row, 'spawned', queue) }),
      };
    case 'dead':
      return { ...facts, state, finishedAt: row.count('finishedAt') };
    case 'cancelled': {
      const isInLine = row.has('ticket') && row.has('directoryKey') && !isListed(item);
      return { ...facts, state, finishedAt: row.count('finishedAt'), isInLine };
    }
    default:
      return assertNever(state, 'task state');
  }
}

function decodeSpawned(row: ItemReader, attribute: string, own: string): DoneTask['spawned'] {
  const { count, first } = row.map(attribute);
  const isKey = (key: unknown): key is { readonly queue?: string; readonly id: string } =>
    typeof key === 'object' && key !== null && 'id' in key && typeof key.id === 'string';
  if (typeof count !== 'number' || !Array.isArray(first) || !first.every(isKey))
    throw row.corrupt(attribute, 'should hold a number of tasks, and the first of them');
  return { count, first: first.map(({ queue = own, id }) => ({ queue, id })) };
}

function decodeError(error: ItemReader): TaskError {
  return { name: error.string('name'), message: error.string('message'), at: error.number('at') };
}

/** Only what a picker and an answer need: the elements are read by the worker that claims the task. */
function decodeJournal(row: ItemReader, attribute: string): JournalInRow {
  const elements = row.list(attribute);
  const isElement = (one: unknown): one is string | Uint8Array => typeof one === 'string' || one instanceof Uint8Array;
  if (!elements.every(isElement)) throw row.corrupt(attribute, 'should be a list of texts or bytes');
  const beats = row.optional('beats', (given) => row.map(given)) ?? {};
  if (!Object.values(beats).every((at) => typeof at === 'number'))
    throw row.corrupt('beats', 'should be a map of times');
  return {
    elements,
    part: row.optional('journalPart', (given) => row.string(given)),
    open: row.optional('open', (given) => row.texts(given)) ?? NOTHING_OPEN,
    beats: beats as Readonly<Record<string, number>>,
  };
}

const NOTHING_OPEN: ReadonlySet<string> = new Set();

function decodeNotify(notify: ItemReader): Notify {
  return { queue: notify.string('queue'), id: notify.string('id'), openKey: notify.string('openKey') };
}

function decodeLinks(row: ItemReader, queue: string): TaskLinks | undefined {
  if (!row.has('batch') && !row.has('key') && !row.has('ticket') && !row.has('notify')) return undefined;
  const links: TaskLinks = {
    batch: row.optional('batch', (attribute) => row.string(attribute)),
    notify: row.nested('notify', decodeNotify),
    concurrency: row.nested('key', decodeKeyLimit),
    line: row.optional('ticket', (attribute) => ({ key: row.string('line'), ticket: row.count(attribute) })),
  };
  const { batch, notify, line } = links;
  if (batch !== undefined) row.ensureNamable('batch', () => batchKey(queue, batch));
  if (notify !== undefined) row.ensureNamable('notify', () => taskKey(notify.queue, notify.id));
  if (line !== undefined) row.ensureNamable('line', () => lineKey(queue, line.key));
  return links;
}

function decodeKeyLimit(row: ItemReader): KeyLimit {
  const rate = row.has('count') ? { count: row.number('count'), perMs: row.number('perMs') } : undefined;
  const limit = row.number('limit');
  if (limit < 1) throw row.corrupt('limit', `should be above zero and is ${limit}`);
  return { key: row.shortString('key', NAME_LIMIT_BYTES), limit, rate };
}

function decodePayload(payload: ItemReader): Payload {
  const text = (name: string): string => payload.string(name);
  return {
    bytes: payload.number('bytes'),
    digest: text('digest'),
    reference: payload.optional('reference', text),
    nonce: payload.optional('nonce', text),
  };
}

/** Decodes a map with the attributes of a task. */
function decodeFollower(row: ItemReader): Follower {
  const count = (name: string): number => row.count(name);
  return {
    name: row.string('name'),
    input: row.json('input'),
    priority: row.oneOf('priority', PRIORITIES),
    runAt: row.number('runAt'),
    expiresAt: row.optional('expiresAt', count),
    links: row.nested('key', (key) => ({ concurrency: decodeKeyLimit(key) })),
    payload: row.nested('payload', decodePayload),
    ...keptOptionsIn(row),
    at: row.count('at'),
    nonce: row.string('nonce'),
  };
}

function decodeOccurrence(row: ItemReader): Occurrence {
  const since = row.optional('since', (name) => row.number(name));
  return { name: row.string('name'), at: row.number('at'), since };
}

function decodeCancellation(row: ItemReader): Cancellation {
  return { at: row.number('at'), reason: row.string('reason') };
}

function decodeChildren(row: ItemReader, queue: string): BatchKey | undefined {
  const id = row.optional('children', (attribute) => row.string(attribute));
  return id === undefined ? undefined : { queue, id };
}

/** The ring of past attempts, put in order by their counters. */
function decodePast(row: ItemReader): readonly PastAttempt[] {
  const names = Array.from({ length: PAST_ATTEMPTS_KEPT }, (_, nth) => `past${nth}`);
  const attempts = names.flatMap((name) => row.nested(name, decodePastAttempt) ?? []);
  return attempts.sort((a, b) => a.leaseCounter - b.leaseCounter);
}

function decodePastAttempt(past: ItemReader): PastAttempt {
  return {
    leaseCounter: past.number('counter'),
    session: past.string('session'),
    endedAt: past.number('endedAt'),
    how: past.oneOf('how', ['failed', 'released', 'snoozed', 'died', 'cancelled', 'done']),
    claimedAt: past.optional('claimedAt', (name) => past.number(name)),
    error: past.optional('error', (name) => past.string(name)),
  };
}
