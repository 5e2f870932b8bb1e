/** Source with the edits of a mutant in it. */
import ts from 'typescript';
import type { Change, Found } from './change.ts';
import type { Edit } from './change.ts';
import type { Spot } from './place.ts';
import { declarations, valueOf } from './place.ts';

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** @throws when a place is not there exactly once */
export function mutated(id: string, source: string, edits: readonly Edit[]): string {
  const tree = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const splices = edits.map((edit) => splice(id, tree, edit));
  splices.sort((one, other) => other.start - one.start);
  return splices.reduce((text, { start, end, text: by }, at) => {
    const later = splices[at - 1];
    if (later !== undefined && end > later.start) throw new Error(`mutant ${id}: two of its edits overlap`);
    return text.slice(0, start) + by + text.slice(end);
  }, source);
}

function splice(id: string, tree: ts.SourceFile, edit: Edit): Splice {
  const where = (what: string): string => `mutant ${id}: ${what} in ${edit.in} of ${edit.file}`;
  const declaration = edit.in.split('.').reduce<ts.Node>((scope, name) => {
    return only(declarations(scope, name), where(name));
  }, tree);
  const places = [edit.at ?? []].flat();
  let spot: Spot = spotOf(places.length === 0 ? valueOf(declaration) : declaration);
  for (const place of places) spot = only(place.find(spot.node), where(place.called));
  return changed(spot, edit.change);
}

function only<T>(found: readonly T[], what: string): T {
  const [first] = found;
  if (first === undefined || found.length > 1)
    throw new Error(`${what} is there ${found.length} times, once is needed: bring the mutant up to date`);
  return first;
}

function spotOf(node: ts.Node): Spot {
  return { start: node.getStart(), end: node.end, node };
}

function changed(spot: Spot, change: Change): Splice {
  const { start, end, node } = spot;
  if (change === 'drop') return dropped(spot);
  const isWhole = start === node.getStart() && end === node.end;
  const text = change(foundAt(spot));
  if (isWhole && ts.isShorthandPropertyAssignment(node)) return { start, end, text: `${node.name.text}: ${text}` };
  return { start, end, text: isWhole && ts.isExpression(node) ? `(${text})` : text };
}

/** With the comma, or the `else`, that belongs to it. */
function dropped({ start, end, node }: Spot): Splice {
  const { text } = node.getSourceFile();
  const isWhole = start === node.getStart() && end === node.end;
  if (!isWhole) {
    const isAfterSpace = /[\s'"`]/.test(text.slice(start - 1, start));
    return { start, end: end + (isAfterSpace ? (/^ +/.exec(text.slice(end))?.[0].length ?? 0) : 0), text: '' };
  }
  if (ts.isIfStatement(node.parent) && node.parent.elseStatement === node)
    return { start: node.parent.thenStatement.end, end, text: '' };
  if (ts.isStatement(node)) return { start, end, text: ';' };
  return { start, end: end + (/^\s*,/.exec(text.slice(end))?.[0].length ?? 0), text: '' };
}

function foundAt({ start, end, node }: Spot): Found {
  const operands = ts.isBinaryExpression(node) ? node : undefined;
  const choice = ts.isConditionalExpression(node) ? node : undefined;
  const args = ts.isCallExpression(node) || ts.isNewExpression(node) ? node.arguments : undefined;
  return {
    text: node.getSourceFile().text.slice(start, end),
    left: operands?.left.getText() ?? '',
    right: operands?.right.getText() ?? '',
    condition: choice?.condition.getText() ?? '',
    whenTrue: choice?.whenTrue.getText() ?? '',
    whenFalse: choice?.whenFalse.getText() ?? '',
    args: args?.map((arg) => arg.getText()) ?? [],
  };
}
