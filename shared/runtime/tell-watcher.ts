/** Telling those who only watch: hooks of a user's own, never needed for correctness. */
import { inspect } from 'node:util';

/** A watcher that throws stops nothing. The process warns of each once: what is told with every request would fill a log. */
export function tellWatcher<Watcher extends object>(watcher: Watcher, say: (watcher: Watcher) => void): void {
  try {
    say(watcher);
  } catch (error) {
    if (warnedOf.has(watcher)) return;
    warnedOf.add(watcher);
    process.emitWarning('a hook threw, and was ignored', { type: 'LeaseholdWarning', detail: inspect(error) });
  }
}

const warnedOf = new WeakSet();
