/** The import graph: files, and their modules. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  readonly typesOnly: boolean;
}

const PARSED = new WeakMap<Source, Import[]>();

/** Parsing the whole code base is what this file takes its time for: once. */
export function importsOf(source: Source): Import[] {
  const known = PARSED.get(source) ?? parsedImports(source);
  PARSED.set(source, known);
  return known;
}

function parsedImports(source: Source): Import[] {
  const file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const typesOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      found.push({ specifier: node.moduleSpecifier.text, typesOnly });
    } else if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      found.push({ specifier: node.moduleSpecifier.text, typesOnly: node.isTypeOnly });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal)) {
        found.push({ specifier: node.argument.literal.text, typesOnly: true });
      }
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined && ts.isStringLiteral(argument)) {
        found.push({ specifier: argument.text, typesOnly: false });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

export const isRelative = (specifier: string): boolean => specifier.startsWith('.');

/**
 * Returns the modules, and the modules that each imports, types included.
 * A folder is one module; a file next to subfolders is a separate module, because it may be the face of the subfolders.
 */
export function roomsOf(sources: readonly Source[]): Map<string, Set<string>> {
  const known = new Set(sources.map((source) => source.path));
  const outer = new Set(sources.map((source) => path.posix.dirname(path.posix.dirname(source.path))));
  const roomOf = (file: string): string => {
    const folder = path.posix.dirname(file);
    return outer.has(folder) ? file : folder;
  };
  const rooms = new Map<string, Set<string>>();
  for (const source of sources) {
    const here = roomOf(source.path);
    const entry = rooms.get(here) ?? new Set<string>();
    rooms.set(here, entry);
    for (const { specifier } of importsOf(source)) {
      const target = path.posix.join(path.posix.dirname(source.path), specifier);
      if (isRelative(specifier) && known.has(target) && roomOf(target) !== here) entry.add(roomOf(target));
    }
  }
  return rooms;
}

/** Files, and which files each imports, types included. */
export function filesOf(sources: readonly Source[]): Map<string, Set<string>> {
  const known = new Set(sources.map((source) => source.path));
  return new Map(
    sources.map((source) => [
      source.path,
      new Set(
        importsOf(source)
          .map(({ specifier }) => path.posix.join(path.posix.dirname(source.path), specifier))
          .filter((target) => known.has(target)),
      ),
    ]),
  );
}

/**
 * Returns the rest after repeatedly removing all modules
 * without imports or without importers: circles, and modules between them.
 */
export function circular(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const left = new Map([...graph].map(([name, imports]) => [name, new Set(imports)]));
  for (let before = -1; before !== left.size;) {
    before = left.size;
    const imported = new Set([...left.values()].flatMap((imports) => [...imports]));
    for (const [name, imports] of left) {
      const isEnd = ![...imports].some((target) => left.has(target));
      if (isEnd || !imported.has(name)) left.delete(name);
    }
  }
  return [...left.keys()].sort();
}

/** All sources of a checkout. */
export function sourcesOf(root: string): Source[] {
  return globSync('**/*.{ts,mjs}', {
    cwd: root,
    exclude: (name) => /(^|\/)(node_modules|cdk\.out|coverage|dist|\.[a-z]+)$/.test(name),
  })
    .map((file) => file.split(path.sep).join('/'))
    .sort()
    .map((file) => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') }));
}
