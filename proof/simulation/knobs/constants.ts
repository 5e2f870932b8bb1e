/** Finds the numeric constants of source files: module-level `const`s that hold numbers, alone or in objects and lists. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const ROOT = path.resolve(import.meta.dirname, '../../..');

export interface Constant {
  /** Path in the repository. */
  readonly file: string;
  readonly name: string;
}

export function constantsIn(folders: readonly string[]): readonly Constant[] {
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => path.posix.join(folder, file)),
  );
  return files.sort().flatMap((file) => {
    const names = numericNamesIn(file, readFileSync(path.join(ROOT, file), 'utf8'));
    return names.map((name) => ({ file, name }));
  });
}

export function numericNamesIn(file: string, source: string): readonly string[] {
  const { statements } = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const declared = statements.flatMap((statement) =>
    ts.isVariableStatement(statement) && (statement.declarationList.flags & ts.NodeFlags.Const) !== 0
      ? statement.declarationList.declarations
      : [],
  );
  return declared
    .filter(({ initializer }) => initializer !== undefined && holdsNumber(initializer))
    .flatMap(({ name }) => (ts.isArrayBindingPattern(name) ? name.elements.map(nameOf) : [name.getText()]));
}

function nameOf(element: ts.ArrayBindingElement): string {
  return ts.isBindingElement(element) ? element.name.getText() : '';
}

/** Ignores functions, calls, and digits in text. */
function holdsNumber(node: ts.Node): boolean {
  if (ts.isNumericLiteral(node)) return true;
  const isTransparent =
    ts.isObjectLiteralExpression(node) ||
    ts.isArrayLiteralExpression(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isPrefixUnaryExpression(node) ||
    ts.isBinaryExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node);
  if (isTransparent) return ts.forEachChild(node, holdsNumber) ?? false;
  // Computed from another constant.
  return ts.isIdentifier(node) && /^[A-Z][A-Z\d_]*_(?:MS|BYTES|LIMIT|CHARACTERS|ENTRIES)$|^MAX_/.test(node.text);
}
