/**
 * Holds a read of a table's stream until something is written, so that a worker on a laptop notices a task at once.
 *
 * With each answer the reader gets the number of writes so far. It sends this number with its next read, which waits for a higher one
 * (`shared/dynamo/table-stream.ts`).
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { WRITES_HEADER } from '../../shared/dynamo/table-stream.ts';

/** Shorter than the reader waits for an answer. An engine may show a record later than it answers the write. */
const HOLD_MS = 1_000;
const READ = /\.(?:BatchGet|Describe|Get|List|Query|Scan)/;

export class WriteCount {
  #count = 0;
  readonly #held = new Set<() => void>();

  /** Counts what may have been a write, once it has been answered. */
  note(headers: IncomingHttpHeaders): void {
    if (READ.test(String(headers['x-amz-target']))) return;
    this.#count++;
    for (const release of this.#held) release();
  }

  /** Waits if this is a read of a stream that has seen all writes. @returns the headers to add to its answer */
  async hold(headers: IncomingHttpHeaders, response: ServerResponse): Promise<readonly string[]> {
    if (!String(headers['x-amz-target']).endsWith('.GetRecords')) return [];
    if (Number(headers[WRITES_HEADER]) >= this.#count) await this.#next(response);
    return [WRITES_HEADER, String(this.#count)];
  }

  async #next(response: ServerResponse): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const release = (): void => resolve(undefined);
    const cancel = systemClock.after(HOLD_MS, release);
    this.#held.add(release);
    response.once('close', release);
    await promise;
    cancel();
    this.#held.delete(release);
    response.off('close', release);
  }
}
