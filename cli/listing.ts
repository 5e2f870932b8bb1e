/** Prints bounded lists on terminals and for programs, and says if a list was cut. */
import { Option } from 'commander';
import { take } from '../shared/core/runtime/take.ts';
import { wholeNumber } from './arguments.ts';
import type { Output, Printable } from './output.ts';
import { tableOf } from './output.ts';

export interface LimitOptions {
  readonly limit: number;
}

const DEFAULT_LIMIT = 100;

export function limitOption(): Option {
  return new Option('--limit <n>', 'maximum number to show').argParser(wholeNumber(1)).default(DEFAULT_LIMIT);
}

/** A title, and its column's value. */
type Columns<T> = Readonly<Record<string, (row: T) => string>>;

/** @param next the command that an operator may want next */
export async function list<T extends Printable>(
  rows: AsyncIterable<T>,
  { limit }: LimitOptions,
  columns: Columns<T>,
  output: Output,
  empty: string | (() => string),
  next?: string,
): Promise<void> {
  const taken = await take(rows, limit);
  output.answer(taken.rows, () =>
    taken.rows.length > 0 ? tableText(taken.rows, columns) : typeof empty === 'string' ? empty : empty(),
  );
  if (taken.more) output.note(`shows the first ${limit} of more (see --limit)`);
  if (next !== undefined && taken.rows.length > 0) output.note(next);
}

export function tableText<T>(rows: readonly T[], columns: Columns<T>): string {
  const cells = Object.values(columns);
  return tableOf(
    Object.keys(columns),
    rows.map((row) => cells.map((cell) => cell(row))),
  );
}
