/** Operator actions, the latest first. */
import { take } from '../../../shared/core/runtime/take.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { AuditPage } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';

const ACTS_SHOWN = 100;

export async function readAudit(connection: ConsoleConnection): Promise<Priced<AuditPage>> {
  const { audit, spent } = connection.open();
  const { rows: acts, more: isMore } = await take(audit.list(), ACTS_SHOWN);
  return { value: { now: connection.now(), acts, isMore }, units: spent() };
}
