/**
 * Reports rows that a worker cannot use, and a clock that is proven wrong.
 * Each row is reported only once, although its entry may be read often.
 */
import type { ClockSkewError } from '../../core/errors.ts';
import type { TaskLog } from '../task/context.ts';
import type { Tally } from './tally.ts';

export class RowProblems {
  readonly #log: TaskLog;
  readonly #tally: Tally;
  readonly #damages = new Set<string>();
  #isSkewed = false;

  constructor(log: TaskLog, tally: Tally) {
    this.#log = log;
    this.#tally = tally;
  }

  damaged(error: unknown): void {
    const found = String(error);
    if (this.#damages.has(found)) return;
    this.#damages.add(found);
    this.#tally.count('damaged');
    this.#log.error('row skipped', { error: found });
  }

  skewed({ message: error }: ClockSkewError): void {
    if (!this.#isSkewed) this.#log.error('takeovers stopped: clock skew', { error });
    this.#isSkewed = true;
  }
}
