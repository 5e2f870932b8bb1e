/** Names an action of the page as a command line. */

/** @import { Act, ConnectionInfo } from '../model.ts' */

/**
 * @param {Act} act
 * @param {ConnectionInfo | undefined} desk
 */
export function commandOf(act, desk) {
  const where = desk?.endpoint === undefined ? option('region', desk?.region) : option('endpoint', desk.endpoint);
  return ['leasehold', ...wordsOf(act), ...option('table', desk?.table), ...where, ...option('reason', reasonOf(act))]
    .map(quoted)
    .join(' ');
}

/** @param {Act} act */
function reasonOf(act) {
  return act.verb === 'task.enqueue' ? undefined : act.reason;
}

/**
 * @param {Act} act
 * @returns {readonly string[]}
 */
function wordsOf(act) {
  switch (act.verb) {
    case 'task.run-now':
    case 'task.retry':
      return ['tasks', 'retry', act.id, '--queue', act.queue];
    case 'task.cancel':
      return ['tasks', 'cancel', act.id, '--queue', act.queue, '--yes', act.id];
    case 'callback.succeed':
    case 'callback.fail':
      return ['callbacks', act.verb.slice('callback.'.length), act.callbackId, act.text];
    case 'queue.pause':
      return ['queues', 'pause', act.queue, ...option('tenant', act.tenant)];
    case 'queue.resume':
      return ['queues', 'resume', act.queue, ...option('tenant', act.tenant)];
    case 'queue.cancel': {
      const { tenant, key, name, batch } = act;
      const selected = Object.entries({ tenant, key, name, batch });
      return [
        ...['tasks', 'cancel', '--queue', act.queue],
        ...selected.flatMap(([part, value]) => option(part, value)),
        ...['--yes', selected.flatMap(([, value]) => value ?? []).join(' ')],
      ];
    }
    case 'schedule.run':
    case 'schedule.pause':
    case 'schedule.resume':
      return ['schedules', act.verb.slice('schedule.'.length), act.name, '--queue', act.queue];
    case 'queue.retry':
      return [
        ...['tasks', 'retry', '--all', '--queue', act.queue],
        ...option('name', act.name),
        ...option('error', act.fault),
        ...['--yes', act.queue],
      ];
    case 'task.enqueue':
      return [
        ...['enqueue', act.name, JSON.stringify(act.input), '--queue', act.queue],
        ...option('id', act.id),
        ...option('delay', act.delayMs === undefined ? undefined : `${act.delayMs}ms`),
      ];
    case 'lock.release':
      return [
        ...['locks', 'release', act.key, '--token', String(act.leaseCounter)],
        ...lockDelayOf(act),
        ...['--yes', act.key],
      ];
    case 'semaphore.evict':
      return [
        ...['semaphores', 'evict', act.name, '--token', String(act.leaseCounter)],
        ...lockDelayOf(act),
        ...['--yes', act.name],
      ];
    case 'session.destroy':
      return ['sessions', 'destroy', act.id, ...lockDelayOf(act), '--yes', act.id];
  }
}

/** @param {{ readonly lockDelayMs?: number | undefined }} act */
function lockDelayOf({ lockDelayMs }) {
  return option('lock-delay', lockDelayMs === undefined ? undefined : `${lockDelayMs}ms`);
}

/**
 * @param {string} name
 * @param {string | undefined} value
 */
function option(name, value) {
  return value === undefined || value === '' ? [] : [`--${name}`, value];
}

/** As a POSIX shell takes it. @param {string} word */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
