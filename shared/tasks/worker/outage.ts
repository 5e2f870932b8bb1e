/** Says why a worker claims no more: the store does not answer, or the process stood still while its requests ran out of time. */
import type { StoreUnavailableError } from '../../core/errors.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { TaskLog } from '../task/context.ts';

/** Called once, not for each of its requests. */
export function tellOfOutage(
  { message: error }: StoreUnavailableError,
  { log, session }: { readonly log: TaskLog; readonly session: Pick<SessionHolder, 'standstillMs'> },
): void {
  const lateMs = session.standstillMs();
  if (lateMs === undefined) log.error('store unavailable, no more claims', { error });
  else log.warn(`this process stood still for ${Math.round(lateMs / 1_000)} s at least, no more claims`, { error });
}
