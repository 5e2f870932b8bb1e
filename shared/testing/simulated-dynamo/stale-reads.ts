/**
 * How stale a simulation wants its reads.
 *
 * The service promises nothing about eventually consistent reads but that they catch up eventually.
 * Without these hooks every read sees the newest state, as with most emulators most of the time.
 */
import type { DynamoItem } from '../../dynamo/engine/driver.ts';

export interface StaleReads {
  /**
   * How far an index is behind the table, in milliseconds.
   * A query asks once for each item that was written lately, so different answers for different items reorder their
   * propagation; the same answer for all shows the index as it was at one moment.
   */
  readonly indexLagMs?:
    | ((of: { readonly table: string; readonly index: string; readonly key: DynamoItem }) => number)
    | undefined;
  /** How far an eventually consistent get, batch get or query of a table is behind, in milliseconds; asked for each item. */
  readonly readLagMs?: ((of: { readonly table: string; readonly key: DynamoItem }) => number) | undefined;
}
