import type { Outcome, Stamp } from '../../shared/core/lease/write.ts';
import type { CheckKey, CheckRecord, CheckStatus } from './health.ts';

/** Stores health checks. Every write is conditional; see `row/check-statements.ts` for the guards. */
export interface CheckStore {
  /** Registers a check, possibly again. Refused if its row was written since it was observed, or exists without having been observed. */
  register(
    observed: CheckRecord | undefined,
    check: CheckKey & { readonly status: CheckStatus; readonly note: string; readonly ttlMs: number | null },
    write: Stamp,
  ): Promise<Outcome<CheckRecord>>;
  /** Refused when it was written since it was observed. */
  report(
    observed: CheckRecord,
    report: { readonly status: CheckStatus; readonly note: string },
    write: Stamp,
  ): Promise<Outcome<CheckRecord>>;
  /** Refused when it was written since it was observed. */
  deregister(observed: CheckRecord, write: Stamp): Promise<Outcome<CheckRecord>>;
  /** Strongly consistent. */
  get(key: CheckKey): Promise<CheckRecord | undefined>;
  /** Checks of one node by id, strongly consistent; those without a row are absent from the map. */
  getMany(keys: readonly CheckKey[]): Promise<ReadonlyMap<string, CheckRecord>>;
  /** A page of the registered checks of one node, or of all. Eventually consistent. */
  page(
    node: string | undefined,
    after: unknown,
  ): Promise<{ readonly keys: readonly CheckKey[]; readonly next: unknown }>;
}
