import { StoreUnavailableError } from '../errors.ts';

/** A row that changes faster than we can look at it so many times is not being operated on, but fought over. */
const LOOKS_LIMIT = 5;

/** Looks and acts until acting decided something. */
export async function insist<Report>(what: string, lookAndAct: () => Promise<Report | undefined>): Promise<Report> {
  for (let look = 1; look <= LOOKS_LIMIT; look++) {
    const report = await lookAndAct();
    if (report !== undefined) return report;
  }
  throw new StoreUnavailableError(`${what} changed ${LOOKS_LIMIT} times while it was looked at; try again`, {
    applied: 'no',
  });
}
