/** A worker's time at the vendor, by the clock of the machine that all of them share. */
export interface Shift {
  readonly letter: string;
  readonly job: string;
  /** After its slot was given to it. */
  readonly beganAt: number;
  /** Before its slot was given back, or when it was killed. */
  endedAt: number | undefined;
}

/** How many were at work at one time, at most. */
export function mostAtOnce(shifts: readonly Shift[]): number {
  const changes = shifts.flatMap(({ beganAt, endedAt = Infinity }) => [
    { at: beganAt, by: 1 },
    { at: endedAt, by: -1 },
  ]);
  // Within one millisecond the order is unknown, so an end sorts first.
  changes.sort((one, other) => one.at - other.at || one.by - other.by);
  let atWork = 0;
  let most = 0;
  for (const { by } of changes) {
    atWork += by;
    most = Math.max(most, atWork);
  }
  return most;
}
