/** Late writes to semaphores. */
import { semaphoreKey } from '../../../shared/dynamo/engine/keys.ts';
import { decodeSemaphore } from '../../../shared/coordination/semaphore/row/semaphore-codec.ts';
import * as semaphores from '../../../shared/coordination/semaphore/row/semaphore-statements.ts';
import { HOLDERS_LIMIT, MARKS_LIMIT } from '../../../shared/coordination/semaphore/semaphore.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE } from './rows.ts';

const SEMAPHORE = { name: 'sem', limit: 5 };
const FIRST = { session: 's', since: NOW, permits: 1 };
const SECOND = { session: 's', since: NOW + 1, permits: 1 };
const MANY_MARKS = Object.fromEntries(Array.from({ length: MARKS_LIMIT }, (_, at) => [`a${at}`, 1]));

export const SEMAPHORE_CASES: Cases = {
  'semaphore.admit: #v = :v'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'v', 99);
    return semaphores.admitHolder(TABLE, SEMAPHORE, SECOND, rows.stamp());
  },
  'semaphore.admit: #declared = :limit'(rows) {
    made(rows);
    return semaphores.admitHolder(TABLE, { ...SEMAPHORE, limit: 4 }, SECOND, rows.stamp());
  },
  'semaphore.admit: #free >= :permits'(rows) {
    made(rows);
    return semaphores.admitHolder(TABLE, SEMAPHORE, { ...SECOND, permits: 5 }, rows.stamp());
  },
  'semaphore.admit: size(#holders) < :holdersLimit'(rows) {
    made(rows);
    const many = Object.fromEntries(Array.from({ length: HOLDERS_LIMIT }, (_, at) => [`a/${at}/1`, at]));
    rows.set(semaphoreKey('sem'), 'holders', many);
    return semaphores.admitHolder(TABLE, SEMAPHORE, SECOND, rows.stamp());
  },
  'semaphore.admit: attribute_not_exists(#waiting)'(rows) {
    made(rows);
    rows.write(queued(rows));
    return semaphores.admitHolder(TABLE, SEMAPHORE, { ...SECOND, session: 'other' }, rows.stamp());
  },
  'semaphore.admit: #floor < :since'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'floor', SECOND.since);
    return semaphores.admitHolder(TABLE, SEMAPHORE, SECOND, rows.stamp());
  },
  'semaphore.admit: size(#left) < :marksLimit'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'left', MANY_MARKS);
    return semaphores.admitHolder(TABLE, SEMAPHORE, SECOND, rows.stamp());
  },
  'semaphore.queue: #v = :v'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'v', 99);
    return queued(rows);
  },
  'semaphore.queue: (attribute_not_exists(#waiting) OR (size(#waiting) < :waitingLimit AND NOT contains(#waiting, :ticket)))'(
    rows,
  ) {
    made(rows);
    rows.write(queued(rows));
    return queued(rows);
  },
  'semaphore.queue: attribute_not_exists(#holders.#PERMIT)'(rows) {
    made(rows);
    rows.write(semaphores.admitHolder(TABLE, SEMAPHORE, SECOND, rows.stamp()));
    return queued(rows);
  },
  'semaphore.queue: (attribute_not_exists(#left.#SESSION) OR #left.#SESSION < :since)'(rows) {
    made(rows);
    rows.write(semaphores.forgoClaim(TABLE, 'sem', SECOND, rows.stamp()));
    return queued(rows);
  },
  'semaphore.forgo: #v = :v'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'v', 99);
    return semaphores.forgoClaim(TABLE, 'sem', SECOND, rows.stamp());
  },
  'semaphore.forgo: #floor < :since'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'floor', SECOND.since);
    return semaphores.forgoClaim(TABLE, 'sem', SECOND, rows.stamp());
  },
  'semaphore.forgo: size(#left) < :marksLimit'(rows) {
    made(rows);
    rows.set(semaphoreKey('sem'), 'left', MANY_MARKS);
    return semaphores.forgoClaim(TABLE, 'sem', SECOND, rows.stamp());
  },
  'semaphore.release: (attribute_not_exists(#left.#SESSION) OR #left.#SESSION <= :since)'(rows) {
    const [permit] = made(rows).holders;
    rows.write(semaphores.forgoClaim(TABLE, 'sem', SECOND, rows.stamp()));
    return semaphores.releaseHolder(TABLE, 'sem', { permit: permit!, left: NOW }, rows.stamp());
  },
};

/** A semaphore with its first holder. */
function made(rows: Rows) {
  rows.write(semaphores.createSemaphore(TABLE, SEMAPHORE, FIRST, rows.stamp()));
  return decodeSemaphore(rows.read(semaphoreKey('sem')));
}

function queued(rows: Rows) {
  return semaphores.queueTicket(TABLE, 'sem', { ...SECOND, until: NOW + 60_000 }, rows.stamp());
}
