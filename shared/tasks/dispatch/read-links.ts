/** Reads the rows of the keys and lines of some tasks, for callers that count the tasks that could start. */
import { defined } from '../../core/defined.ts';
import type { KeyState } from '../task/key-limit.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { TaskLinks, TaskRecord } from '../task/task.ts';

export type KeyStates = ReadonlyMap<string, KeyState>;
/** By line. */
export type Turns = ReadonlyMap<string, number>;

interface LinkPorts {
  readonly tasks: Pick<TaskStore, 'getKeys' | 'getTurns'>;
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

interface LinkOptions<State> {
  /** Rows that are not read again. */
  readonly known?: ReadonlyMap<string, State>;
  /** Maximum number of known rows, at half a unit each. */
  readonly limit?: number;
}

/** Reads the states of these tasks' keys. */
export function readKeys(
  rows: readonly TaskRecord[],
  { tasks, onDamaged }: LinkPorts,
  options?: LinkOptions<KeyState>,
): Promise<KeyStates> {
  return readEach(
    rows,
    (links) => links.concurrency?.key,
    (queue, keys) => tasks.getKeys(queue, keys, onDamaged),
    options,
  );
}

/** Reads the turns of these tasks' lines. Lines whose rows are not found are left out. */
export function readTurns(
  rows: readonly TaskRecord[],
  { tasks, onDamaged }: LinkPorts,
  options?: LinkOptions<number>,
): Promise<Turns> {
  const read = async (queue: string, lines: readonly string[]): Promise<Turns> => {
    const found = await tasks.getTurns(queue, lines, defined({ onDamaged }));
    return new Map([...found].filter(([, turn]) => turn > 0));
  };
  return readEach(rows, (links) => links.line?.key, read, options);
}

async function readEach<State>(
  rows: readonly TaskRecord[],
  nameOf: (links: TaskLinks) => string | undefined,
  read: (queue: string, names: readonly string[]) => Promise<ReadonlyMap<string, State>>,
  { known = new Map(), limit = Infinity }: LinkOptions<State> = {},
): Promise<ReadonlyMap<string, State>> {
  const [first] = rows;
  const names = new Set(rows.flatMap(({ links }) => (links && nameOf(links)) ?? []));
  const unknown = [...names].filter((name) => !known.has(name)).slice(0, Math.max(0, limit - known.size));
  if (first === undefined || unknown.length === 0) return known;
  return new Map([...known, ...(await read(first.queue, unknown))]);
}

/** Whether the turn of a task in its line has not come, as far as is known. */
export function isBehind({ links }: TaskRecord, turns: Turns): boolean {
  const line = links?.line;
  return line !== undefined && line.ticket > (turns.get(line.key) ?? Infinity);
}
