/** Each type that the package exports is one that a user writes; all others are inferred, so that the reference stays short. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';

/** Types of which a user's own code is made, although no signature of ours names them directly. */
const OF_OWN_CODE: Readonly<Record<string, string>> = {
  Attempt: 'what a middleware gets',
  ConnectionOptions: 'what several clients share',
  CredentialProvider: 'a function that the user gives',
  DurableTaskInfo: 'what `run` of a durable task gets',
  NameOf: 'a function that the user gives',
  PayloadRequest: 'what a store for payloads gets',
  RetryOptions: 'what several tasks share',
  RetryPolicy: 'a function that the user gives',
  SendObserver: 'a function that the user gives',
  TaskError: 'what a failed task has',
  TaskEvents: 'functions that the user gives',
  TaskMiddleware: 'a function that the user gives',
  WorkerBundling: 'what several stacks share',
};

const GUIDES = ['README.md', 'docs/*.md', 'examples/**/*.ts', 'consul/README.md'];
const OPTIONS: ts.CompilerOptions = {
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.NodeNext,
};

test('each exported type is named in a guide, or by a signature of something exported, or is what a user writes', () => {
  const entries = globSync('api/*.ts').filter((file) => !/command|satellites/.test(file));
  const program = ts.createProgram(entries, OPTIONS);
  const checker = program.getTypeChecker();
  const exported = new Map<string, ts.Symbol>();
  for (const file of entries) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    assert(module !== undefined, `${file} is a module`);
    for (const one of checker.getExportsOfModule(module)) exported.set(one.name, original(checker, one));
  }
  const types = [...exported].filter(([, symbol]) => (symbol.flags & ts.SymbolFlags.Value) === 0);
  const text = GUIDES.flatMap((pattern) => globSync(pattern)).map((file) => readFileSync(file, 'utf8'));
  const guides = text.join('\n');
  const inSignatures = new Set([...exported.values()].flatMap((symbol) => typesNamedBy(checker, symbol)));

  const without = types.filter(
    ([name, symbol]) =>
      !inSignatures.has(symbol) && !new RegExp(`\\b${name}\\b`).test(guides) && !Object.hasOwn(OF_OWN_CODE, name),
  );
  expect(without.map(([name]) => name)).toEqual([]);
  expect(Object.keys(OF_OWN_CODE).filter((name) => !exported.has(name))).toEqual([]);
  expect(types.length).toBeGreaterThan(50);
  expect(types.length).toBeLessThan(100);
});

function original(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

/** Of functions, and of public members of classes and interfaces, inherited ones too: parameters, results and properties. */
function typesNamedBy(checker: ts.TypeChecker, symbol: ts.Symbol): readonly ts.Symbol[] {
  const found: ts.Symbol[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || isHidden(node)) return;
    if (ts.isTypeReferenceNode(node)) {
      const named = checker.getSymbolAtLocation(node.typeName);
      if (named !== undefined) found.push(original(checker, named));
    }
    if (ts.isExpressionWithTypeArguments(node)) {
      const base = checker.getSymbolAtLocation(node.expression);
      if (base !== undefined) found.push(...typesNamedBy(checker, original(checker, base)));
    }
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) {
    if (!ts.isTypeAliasDeclaration(declaration)) ts.forEachChild(declaration, visit);
  }
  return found;
}

function isHidden(node: ts.Node): boolean {
  if (!ts.isClassElement(node)) return false;
  if (node.name !== undefined && ts.isPrivateIdentifier(node.name)) return true;
  // A constructor is for us, where a function makes the object.
  if (ts.isConstructorDeclaration(node) && !node.getSourceFile().fileName.includes('/infra/')) return true;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return (ts.getCombinedModifierFlags(node) & hidden) !== 0;
}
