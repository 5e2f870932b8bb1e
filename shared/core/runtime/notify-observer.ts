/** Calls a user's hooks, which are never needed for correctness. */
import { warn } from './host.ts';
import { inspected } from './inspect.ts';

/**
 * A hook that throws does not stop the caller. The process warns about each hook only once, because a warning per request would fill a log.
 */
export function notifyObserver<Watcher extends object>(watcher: Watcher, say: (watcher: Watcher) => void): void {
  try {
    say(watcher);
  } catch (error) {
    if (warnedOf.has(watcher)) return;
    warnedOf.add(watcher);
    warn('a hook threw, and was ignored', inspected(error));
  }
}

const warnedOf = new WeakSet();
