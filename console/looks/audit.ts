/** What operators did, the latest first. */
import { take } from '../../shared/runtime/take.ts';
import type { Desk } from '../desk.ts';
import type { AuditPage } from '../model.ts';
import type { Priced } from '../shared-look.ts';

const ACTS_SHOWN = 100;

export async function lookAtAudit(desk: Desk): Promise<Priced<AuditPage>> {
  const { audit, spent } = desk.open();
  const { rows: acts, more: isMore } = await take(audit.list(), ACTS_SHOWN);
  return { value: { now: desk.now(), acts, isMore }, units: spent() };
}
