/** Telling those who only watch: hooks of a user's own, never needed for correctness. */
import { warn } from './host.ts';
import { inspected } from './inspect.ts';

/** A watcher that throws stops nothing. The process warns of each once: what is told with every request would fill a log. */
export function tellWatcher<Watcher extends object>(watcher: Watcher, say: (watcher: Watcher) => void): void {
  try {
    say(watcher);
  } catch (error) {
    if (warnedOf.has(watcher)) return;
    warnedOf.add(watcher);
    warn('a hook threw, and was ignored', inspected(error));
  }
}

const warnedOf = new WeakSet();
