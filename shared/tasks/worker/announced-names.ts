/**
 * `namesToAnnounce` chooses the task names that a worker writes into its queue's row, where commands
 * and the console find the known names.
 *
 * Plans do not use them. A name stays in the row until newer names replace it. A worker with too many names announces the first ones.
 */

const NAMES_LIMIT = 100;
/** Workers read the row every few seconds, and 4 KB cost one read: this leaves capacity for the rest of the row. */
const BYTES_LIMIT = 2_048;

/** Returns the defined names, and then the announced ones while they fit; undefined if the row has all defined names. */
export function namesToAnnounce(
  defined: Iterable<string>,
  announced: readonly string[],
): readonly string[] | undefined {
  const own = withinLimits(defined);
  if (own.every((name) => announced.includes(name))) return undefined;
  return withinLimits(new Set([...own, ...announced]));
}

function withinLimits(names: Iterable<string>): readonly string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const name of names) {
    bytes += Buffer.byteLength(name);
    if (kept.length === NAMES_LIMIT || bytes > BYTES_LIMIT) break;
    kept.push(name);
  }
  return kept;
}
