import { assertNever } from '../../../core/errors.ts';
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
import { SCHEMA_VERSION } from '../../../dynamo/engine/schema.ts';
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
    payload: row.optional('payload', (attribute) => decodePayload(row, attribute)),
    input: row.json('input'),
  };
}

/** @throws CorruptItemError */
export function decodeTask(item: DynamoItem): TaskRecord {
  const row = new ItemReader(item);
  const count = (attribute: string): number => row.count(attribute);
  const queue = row.string('queue');
  const id = row.string('id');
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
    lastError: row.optional('lastError', (attribute) => decodeError(row, attribute)),
    generation: row.optional('generation', count) ?? 0,
    cancellation: row.optional('cancellation', (attribute) => decodeCancellation(row, attribute)),
    session: row.optional('session', (attribute) => row.string(attribute)),
    claimedAt: row.optional('claimedAt', count),
    links: decodeLinks(row),
    ...keptOptionsIn(row),
    payload: row.optional('payload', (attribute) => decodePayload(row, attribute)),
    tenant: row.optional('tenant', (attribute) => row.string(attribute)),
    schedule: row.optional('schedule', (attribute) => decodeOccurrence(row, attribute)),
    children: decodeChildren(row, queue),
    past: decodePast(row),
    follower: row.optional('follower', (attribute) => decodeFollower(row, attribute)),
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
        session: row.string('session'),
        claimedAt: row.count('claimedAt'),
        readyAt: row.number('readyAt'),
      };
    case 'done':
      return {
        ...facts,
        state,
        session: row.string('session'),
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

function decodeError(row: ItemReader, attribute: string): TaskError {
  const { name, message, at } = row.map(attribute);
  if (typeof name !== 'string' || typeof message !== 'string' || typeof at !== 'number')
    throw row.corrupt(attribute, 'should hold a name, a message and a time');
  return { name, message, at };
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

function decodeNotify(row: ItemReader, attribute: string): Notify {
  const { queue, id, openKey } = row.map(attribute);
  if (typeof queue !== 'string' || typeof id !== 'string' || typeof openKey !== 'string')
    throw row.corrupt(attribute, 'should hold a task and its operation');
  return { queue, id, openKey };
}

function decodeLinks(row: ItemReader): TaskLinks | undefined {
  if (!row.has('batch') && !row.has('key') && !row.has('ticket') && !row.has('notify')) return undefined;
  return {
    batch: row.optional('batch', (attribute) => row.string(attribute)),
    notify: row.optional('notify', (attribute) => decodeNotify(row, attribute)),
    concurrency: row.optional('key', (attribute) => decodeKeyLimit(row, attribute)),
    line: row.optional('ticket', (attribute) => ({ key: row.string('line'), ticket: row.count(attribute) })),
  };
}

function decodeKeyLimit(row: ItemReader, attribute: string): KeyLimit {
  const { key, limit, count, perMs } = row.map(attribute);
  if (typeof key !== 'string' || typeof limit !== 'number')
    throw row.corrupt(attribute, 'should hold a key and a limit');
  const rate = typeof count === 'number' && typeof perMs === 'number' ? { count, perMs } : undefined;
  return { key, limit, rate };
}

function decodePayload(row: ItemReader, attribute: string): Payload {
  const { bytes, digest, reference, nonce } = row.map(attribute);
  if (typeof bytes !== 'number' || typeof digest !== 'string')
    throw row.corrupt(attribute, 'should hold a size and a digest');
  return {
    bytes,
    digest,
    reference: typeof reference === 'string' ? reference : undefined,
    nonce: typeof nonce === 'string' ? nonce : undefined,
  };
}

/** Decodes a map with the attributes of a task. */
function decodeFollower(task: ItemReader, attribute: string): Follower {
  const row = new ItemReader({ ...task.map(attribute), pk: task.key, v: SCHEMA_VERSION });
  const count = (name: string): number => row.count(name);
  return {
    name: row.string('name'),
    input: row.json('input'),
    priority: row.oneOf('priority', PRIORITIES),
    runAt: row.number('runAt'),
    expiresAt: row.optional('expiresAt', count),
    links: row.has('key') ? { concurrency: decodeKeyLimit(row, 'key') } : undefined,
    payload: row.optional('payload', (name) => decodePayload(row, name)),
    ...keptOptionsIn(row),
    at: row.count('at'),
    nonce: row.string('nonce'),
  };
}

function decodeOccurrence(row: ItemReader, attribute: string): Occurrence {
  const { name, at, since } = row.map(attribute);
  if (typeof name !== 'string' || typeof at !== 'number' || (since !== undefined && typeof since !== 'number'))
    throw row.corrupt(attribute, 'should hold the name of a schedule and an occurrence of it');
  return { name, at, since };
}

function decodeCancellation(row: ItemReader, attribute: string): Cancellation {
  const { at, reason } = row.map(attribute);
  if (typeof at !== 'number' || typeof reason !== 'string')
    throw row.corrupt(attribute, 'should hold a time and a reason');
  return { at, reason };
}

function decodeChildren(row: ItemReader, queue: string): BatchKey | undefined {
  const id = row.optional('children', (attribute) => row.string(attribute));
  return id === undefined ? undefined : { queue, id };
}

/** The ring of past attempts, put in order by their counters. */
function decodePast(row: ItemReader): readonly PastAttempt[] {
  const names = Array.from({ length: PAST_ATTEMPTS_KEPT }, (_, nth) => `past${nth}`);
  const attempts = names.flatMap((name) => (row.has(name) ? [decodePastAttempt(row, name)] : []));
  return attempts.sort((a, b) => a.leaseCounter - b.leaseCounter);
}

function decodePastAttempt(row: ItemReader, attribute: string): PastAttempt {
  const { counter, session, claimedAt, endedAt, how, error } = row.map(attribute);
  const ending = (['failed', 'released', 'snoozed', 'died', 'cancelled', 'done'] as const).find(
    (known) => known === how,
  );
  if (typeof counter !== 'number' || typeof session !== 'string' || typeof endedAt !== 'number' || ending === undefined)
    throw row.corrupt(attribute, 'should say who had it, under which counter, until when, and how that ended');
  return {
    leaseCounter: counter,
    session,
    endedAt,
    how: ending,
    claimedAt: typeof claimedAt === 'number' ? claimedAt : undefined,
    error: typeof error === 'string' ? error : undefined,
  };
}
