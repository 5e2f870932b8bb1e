/** What operators did, the latest first. */
import type { AuditRecord } from '../../shared/dynamo/audit-store.ts';
import type { Desk } from '../desk.ts';
import type { AuditPage } from '../model.ts';
import type { Priced } from '../shared-look.ts';

const ACTS_SHOWN = 100;

export async function lookAtAudit(desk: Desk): Promise<Priced<AuditPage>> {
  const { audit, spent } = desk.open();
  const acts: AuditRecord[] = [];
  let isMore = false;
  for await (const act of audit.list()) {
    isMore = acts.length === ACTS_SHOWN;
    if (isMore) break;
    acts.push(act);
  }
  return { value: { now: desk.now(), acts, isMore }, units: spent() };
}
