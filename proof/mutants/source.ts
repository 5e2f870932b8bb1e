/** Whether source that was changed can still be loaded. */
import ts from 'typescript';

/** Syntax that cannot be read, and names that are used where nothing declares them. */
export function complaintsOf(source: string): readonly string[] {
  const file = ts.createSourceFile('/source.ts', source, ts.ScriptTarget.Latest, true);
  const program = ts.createProgram({
    rootNames: [file.fileName],
    options: { noResolve: true, noLib: true, types: [], target: ts.ScriptTarget.Latest },
    host: {
      getSourceFile: (name) => (name === file.fileName ? file : undefined),
      getDefaultLibFileName: () => '',
      writeFile: () => undefined,
      getCurrentDirectory: () => '/',
      getCanonicalFileName: (name) => name,
      useCaseSensitiveFileNames: () => true,
      getNewLine: () => '\n',
      fileExists: (name) => name === file.fileName,
      readFile: () => undefined,
    },
  });
  const checker = program.getTypeChecker();
  const complaints = program
    .getSyntacticDiagnostics(file)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  const [members, used] = [new Set<string>(), new Set<string>()];
  const visit = (node: ts.Node): void => {
    if (ts.isPrivateIdentifier(node)) (ts.isClassElement(node.parent) ? members : used).add(node.text);
    if (ts.isIdentifier(node) && isUsed(node) && !(node.text in globalThis)) {
      const symbol = ts.isShorthandPropertyAssignment(node.parent)
        ? checker.getShorthandAssignmentValueSymbol(node.parent)
        : checker.getSymbolAtLocation(node);
      if (symbol === undefined) complaints.push(`nothing declares ${node.text} here`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  for (const name of used) if (!members.has(name)) complaints.push(`no class here has a member ${name}`);
  return complaints;
}

/** As a value, by its name alone. */
function isUsed(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isTypeNode(parent) || ts.isQualifiedName(parent) || ts.isImportSpecifier(parent)) return false;
  if (ts.isExportSpecifier(parent) || (ts.isBindingElement(parent) && parent.propertyName === node)) return false;
  return !('name' in parent && parent.name === node);
}
