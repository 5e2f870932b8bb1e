/** Names the grant that allows a request, if it was refused for want of a permission. */
import { DENIED } from '../../core/denied.ts';
import { splitKey } from './keys.ts';

/** Grants of `TaskWorkers`, by verb; the first that matches. Tasks are run with the rights of a worker, which do not include locks. */
const GRANTS: readonly (readonly [verb: RegExp, grant: string])[] = [
  [/^(lock|semaphore|waitgroup|ratelimit|election)/i, 'grantCoordinate(workers) allows it to tasks'],
  [/^(task\.enqueue|batch\.create)$/, 'grantEnqueue(role) allows it'],
  [/^task\.(replace|follow|renew)$/, 'grantReplace(role) allows it'],
  [/^task\.(cancel|requestCancel|revive|reschedule)$|^queue\.(pause|resume)$/, 'grantOperate(role) allows it'],
  [/^(task|key)\./, 'grantWork(role) allows it'],
];

/**
 * Follows the message of a refusal. A transaction that adds tasks to other queues needs the grants of their workers, too.
 * @param keys partition keys of the rows; the first one carries the guard
 */
export function grantFor(verb: string, code: string | undefined, keys: readonly string[]): string {
  if (code !== DENIED) return '';
  const [own, ...others] = keys.map(queueOf);
  const elsewhere = [...new Set(others)].filter((queue) => queue !== undefined && queue !== own);
  if (own !== undefined && elsewhere.length > 0)
    return `; in CDK, grantEnqueue(role) of the workers of queue ${elsewhere.join(' and ')} allows what is added there`;
  const grant = GRANTS.find(([pattern]) => pattern.test(verb))?.[1];
  return grant === undefined ? '' : `; in CDK, workers.${grant}`;
}

const ROWS_OF_TASKS: ReadonlySet<string> = new Set(['task', 'payload', 'line']);

function queueOf(key: string): string | undefined {
  const [kind = '', queue] = splitKey(key);
  return ROWS_OF_TASKS.has(kind) ? queue : undefined;
}
