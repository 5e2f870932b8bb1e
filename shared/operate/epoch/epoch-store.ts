/** Raises the counters of a restored table; see `epoch-statements.ts`. */
import type { Runtime } from '../../core/runtime/runtime.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import { invalidateSession } from '../../session/row/session-statements.ts';
import type { CountingRow } from './epoch-statements.ts';
import { raiseCounters } from './epoch-statements.ts';

export class EpochStore {
  readonly #sender: Sender;
  readonly #runtime: Runtime;
  readonly #table: string;

  constructor({ sender, runtime }: { readonly sender: Sender; readonly runtime: Runtime }, table: string) {
    this.#sender = sender;
    this.#runtime = runtime;
    this.#table = table;
  }

  /** False: the row is not as observed. */
  async raise(row: CountingRow, floor: number): Promise<boolean> {
    const stamp = stampOf(this.#runtime);
    const { kind } = await this.#sender.write(raiseCounters(this.#table, row, floor, stamp), stamp.nonce);
    return kind === 'applied';
  }

  /** False: the session had already ended. */
  async endSession(id: string): Promise<boolean> {
    const stamp = stampOf(this.#runtime);
    const end = invalidateSession(this.#table, { id, reason: 'destroyed', ...stamp });
    return (await this.#sender.write(end, stamp.nonce)).kind === 'applied';
  }
}
