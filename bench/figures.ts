/** Figures of a bench: statistics and their format. */
import Table from 'cli-table3';

/** The middle one; of an even number, the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [(sorted.length - 1) >> 1, sorted.length >> 1].map((index) => sorted[index]);
  return (low + high) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

export function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Prints figures: as one JSON object for programs, or as tables with four digits for people. */
export function print(figures: object, json = false): void {
  console.log(json ? JSON.stringify(figures) : textOf(figures));
}

type Cells = Readonly<Record<string, string>>;

/** Turns lists of objects, and objects of objects, into tables. Single figures become rows of the first table. */
export function textOf(figures: object): string {
  if (Array.isArray(figures)) return tableOf(figures.map((row) => cellsOf(row)));
  const parts: string[] = [];
  const alone: Cells[] = [];
  for (const [name, value] of Object.entries(figures) as [string, unknown][]) {
    const rows = rowsOf(value);
    if (rows === undefined)
      alone.push(...Object.entries(cellsOf(value, name)).map(([figure, cell]) => ({ figure, cell })));
    else parts.push(`${wordsOf(name)}\n${tableOf(rows)}`);
  }
  return [...(alone.length > 0 ? [tableOf(alone, false)] : []), ...parts].join('\n');
}

/** Rows of a table, if a value is a list of objects or a record of them. */
function rowsOf(value: unknown): readonly Cells[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const each = Object.entries(value) as [string, unknown][];
  const areRows =
    each.length > 0 && each.every(([, one]) => typeof one === 'object' && one !== null && !Array.isArray(one));
  if (!areRows) return undefined;
  return each.map(([name, one]) => (Array.isArray(value) ? cellsOf(one) : { ' ': wordsOf(name), ...cellsOf(one) }));
}

/** One cell for each number or text, named by its path. */
function cellsOf(value: unknown, path = ''): Cells {
  if (typeof value !== 'object' || value === null) return { [wordsOf(path)]: shown(value) };
  if (Array.isArray(value))
    return {
      [wordsOf(path)]:
        value.map((one) => (typeof one === 'object' ? JSON.stringify(one) : shown(one))).join(', ') || 'none',
    };
  return Object.assign({}, ...Object.entries(value).map(([name, one]) => cellsOf(one, `${path} ${name}`))) as Cells;
}

function tableOf(rows: readonly Cells[], hasHead = true): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const colAligns = names.map((_, at) => (at === 0 ? 'left' : 'right'));
  const table = new Table({
    ...(hasHead && { head: names }),
    colAligns,
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => names.map((name) => row[name] ?? '')));
  return table.toString();
}

function shown(value: unknown): string {
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value)
    ? value.toLocaleString('en')
    : value.toLocaleString('en', { maximumSignificantDigits: 4 });
}

/** `writeUnitsPerTask` as words. */
function wordsOf(name: string): string {
  return name.replace(/(?<=.)[A-Z](?=[a-z]|[A-Z][a-z])/g, (letter) => ` ${letter.toLowerCase()}`).trim();
}
