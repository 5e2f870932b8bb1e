/** The page of the matrix. */
import type { Cell, Column } from './cell.ts';
import { COLUMNS } from './cell.ts';

/** A bug with what is known of it. */
export interface Row {
  readonly id: string;
  readonly what: string;
  readonly cells: readonly Cell[];
  /** Every notation has judged it, or has nothing to say of its files. */
  readonly isComplete: boolean;
}

const HEAD = `# The kill matrix

Which notation notices which bug. \`npm run mutants -- --matrix FILE\` writes this page; FILE keeps what is judged, and the next run goes on from it.

- **unit**, **conformance**: the tests nearest to the changed files (\`proof/stryker/tests-of.ts\`). **text**: the golden texts of statements.
- **guards**: the late writes of \`proof/conjuncts/guards\`. **placements**: every single fault in the flows that send a verb of a changed file, or in all.
- **histories**: 40 of a seeded bug's own profile, judged by the rule named for it. **mix**: eight of the default mix, judged by every rule.

●: noticed, with the rule that did. ○: not noticed. –: not decided, because the time of the cell (six seconds of CPU) was over. Empty: not judged, or not of its files.
*Alone*: bugs that every other notation has judged, and none has noticed. The second number counts also those that another one has not decided.
`;

/** @param commits at which cells were judged, the earliest first */
export function pageOf(sections: Readonly<Record<string, readonly Row[]>>, commits: readonly string[]): string {
  const at = new Intl.ListFormat('en-GB').format(commits);
  const judgedAt = `The cells were judged at ${at}. A cell holds until the place of its bug, or what judges it, changes.\n`;
  return [HEAD, judgedAt, ...Object.entries(sections).map(([title, rows]) => section(title, rows))].join('\n');
}

function section(title: string, rows: readonly Row[]): string {
  const lines = rows.map(({ id, what, cells }) => [id, what, ...COLUMNS.map((column) => shown(cells, column))]);
  const figures = COLUMNS.map((column) => figure(rows, column));
  const complete = rows.filter(({ isComplete }) => isComplete).length;
  const table = [['', `${complete} of ${rows.length} are judged by every notation`, ...figures], ...lines];
  const head = ['bug', 'what', ...COLUMNS];
  return [`## ${title}\n`, row(head), row(head.map(() => '---')), ...table.map(row), ''].join('\n');
}

function figure(rows: readonly Row[], column: Column): string {
  const judged = rows.flatMap(({ cells }) => cells.filter((cell) => cell.column === column));
  const perhaps = rows.filter(({ cells, isComplete }) => isComplete && isAlone(cells, column));
  const alone = perhaps.filter(({ cells }) => cells.every(({ kind }) => kind !== 'undecided'));
  const killed = judged.filter(({ kind }) => kind === 'killed');
  return `${killed.length} of ${judged.length}; alone ${alone.length} to ${perhaps.length}`;
}

function isAlone(cells: readonly Cell[], column: Column): boolean {
  const killers = cells.filter(({ kind }) => kind === 'killed');
  return killers.length === 1 && killers[0]?.column === column;
}

function shown(cells: readonly Cell[], column: Column): string {
  const cell = cells.find((one) => one.column === column);
  if (cell === undefined) return '';
  if (cell.kind === 'undecided') return '–';
  if (cell.kind === 'lives') return '○';
  const isRule = column === 'histories' || column === 'mix';
  return isRule && cell.by !== undefined ? `● ${cell.by}` : '●';
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
