/** Finds which tasks wait behind others of their lines, for callers that count tasks. */
import { defined } from '../../core/defined.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';

/** By line. */
export type Turns = ReadonlyMap<string, number>;

interface TurnPorts {
  readonly tasks: Pick<TaskStore, 'getTurns'>;
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

/** Reads the turns of these tasks' lines, at half a unit each. Lines whose rows are not found are left out. */
export async function readTurns(
  rows: readonly TaskRecord[],
  { tasks, onDamaged }: TurnPorts,
  { known = new Map(), limit = Infinity }: { readonly known?: Turns; readonly limit?: number } = {},
): Promise<Turns> {
  const [first] = rows;
  const keys = new Set(rows.flatMap(({ links }) => links?.line?.key ?? []));
  const unknown = [...keys].filter((key) => !known.has(key)).slice(0, Math.max(0, limit - known.size));
  if (first === undefined || unknown.length === 0) return known;
  const found = await tasks.getTurns(first.queue, unknown, defined({ onDamaged }));
  return new Map([...known, ...[...found].filter(([, turn]) => turn > 0)]);
}

/** Whether the turn of a task in its line has not come, as far as is known. */
export function isBehind({ links }: TaskRecord, turns: Turns): boolean {
  const line = links?.line;
  return line !== undefined && line.ticket > (turns.get(line.key) ?? Infinity);
}
