/**
 * Places in source, named by its structure.
 *
 * A place names its target by what the target mentions: names of methods, properties and constants, and quoted texts.
 * If one match contains another, the inner one counts.
 */
import ts from 'typescript';

/** A stretch of source, with the node that it is or belongs to. */
export interface Spot {
  readonly start: number;
  readonly end: number;
  readonly node: ts.Node;
}

export interface Place {
  /** For messages. */
  readonly called: string;
  find(scope: ts.Node): readonly Spot[];
}

/** The condition of an `if`. */
export const condition = (...mentions: readonly string[]): Place =>
  place('condition', mentions, (node) => (ts.isIfStatement(node) ? node.expression : undefined));

/** An `if` with its branches. */
export const branch = (...mentions: readonly string[]): Place =>
  place('branch', mentions, (node) => (ts.isIfStatement(node) ? node : undefined));

/** A loop with its body. */
export const loop = (...mentions: readonly string[]): Place =>
  place('loop', mentions, (node) => (ts.isIterationStatement(node, false) ? node : undefined));

/** The smallest statement. */
export const statement = (...mentions: readonly string[]): Place =>
  place('statement', mentions, (node) => (ts.isStatement(node) && !ts.isBlock(node) ? node : undefined));

/** The returned expression, also of an arrow function without a block. */
export const returned = (...mentions: readonly string[]): Place =>
  place('returned', mentions, (node) => {
    if (ts.isReturnStatement(node)) return node.expression;
    return ts.isArrowFunction(node) && !ts.isBlock(node.body) ? node.body : undefined;
  });

/** The `finally` block of a `try`. */
export const cleanup = (): Place =>
  place('cleanup', [], (node) => (ts.isTryStatement(node) ? node.finallyBlock : undefined));

/** A call, or a `new`, whose callee has this as its last name. */
export const call = (name: string, ...mentions: readonly string[]): Place =>
  place(`call of ${name}`, mentions, (node) => (isCallOf(node, name) ? node : undefined));

/** One argument of such a call, counted from 0. */
export const argument = (name: string, at: number): Place =>
  place(`argument ${at} of ${name}`, [], (node) => (isCallOf(node, name) ? node.arguments?.[at] : undefined));

/** An operation with this operator: `+`, `&&`, `===`. */
export const operation = (operator: string, ...mentions: readonly string[]): Place =>
  place(`operation ${operator}`, mentions, (node) =>
    ts.isBinaryExpression(node) && node.operatorToken.getText() === operator ? node : undefined,
  );

/** `condition ? one : another`. */
export const choice = (...mentions: readonly string[]): Place =>
  place('choice', mentions, (node) => (ts.isConditionalExpression(node) ? node : undefined));

/** The value assigned to a target with this as its last name. */
export const assigned = (name: string): Place =>
  place(`assigned to ${name}`, [], (node) =>
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    lastNameOf(node.left) === name
      ? node.right
      : undefined,
  );

/** A use of the name; of a property, with its object. */
export const use = (name: string): Place =>
  place(`use of ${name}`, [], (node) =>
    lastNameOf(node) === name && !(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node)
      ? node
      : undefined,
  );

/** An entry of an object literal, with its name. */
export const entry = (name: string): Place =>
  place(`entry ${name}`, [], (node) => (isEntry(node) && nameOf(node) === name ? node : undefined));

/** The value of such an entry, which mentions these. */
export const property = (name: string, ...mentions: readonly string[]): Place =>
  place(`property ${name}`, mentions, (node) => (isEntry(node) && nameOf(node) === name ? valueOf(node) : undefined));

/** An element of a list that is written out, counted from 0 or found by what it mentions. */
export const element = (which: number | string): Place =>
  place(`element ${which}`, typeof which === 'string' ? [which] : [], (node) => {
    if (!ts.isArrayLiteralExpression(node.parent)) return undefined;
    return typeof which === 'string' || node.parent.elements[which] === node ? node : undefined;
  });

/** A text within a string, between its words: the expressions that statements send are made of such. */
export const clause = (text: string): Place => ({
  called: `clause ${JSON.stringify(text)}`,
  find(scope) {
    const words = text.trim().split(/\s+/).map(literal).join('\\s+');
    const [before, after] = [/^\w/.test(text) ? '(?<![\\w#:])' : '', /\w$/.test(text) ? '(?!\\w)' : ''];
    return within(scope)
      .filter(isText)
      .flatMap((node) => {
        const start = node.getStart();
        const found = node.getText().matchAll(new RegExp(`${before}${words}${after}`, 'g'));
        return [...found].map((match) => ({
          start: start + match.index,
          end: start + match.index + match[0].length,
          node,
        }));
      });
  },
});

/** `${NAME}` in a template, with the comma, AND or OR before it, or after it if it is the first. */
export const part = (name: string): Place => ({
  called: `part ${name}`,
  find: (scope) =>
    within(scope)
      .filter(ts.isTemplateSpan)
      .filter(({ expression }) => ts.isIdentifier(expression) && expression.text === name)
      .map((node) => {
        const text = node.getSourceFile().text;
        const [start, end] = [text.lastIndexOf('${', node.expression.getStart()), node.literal.getStart() + 1];
        const before = /(?:,| AND| OR)\s*$/.exec(text.slice(0, start))?.[0].length ?? 0;
        const after = before > 0 ? 0 : (/^(?:,| AND| OR)\s*/.exec(text.slice(end))?.[0].length ?? 0);
        return { start: start - before, end: end + after, node };
      }),
});

/** Returns the nearest declarations of that name: nested ones only without an outer one. */
export function declarations(scope: ts.Node, name: string): readonly ts.Node[] {
  const inner: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (isDeclaration(node)) inner.push(node);
    else ts.forEachChild(node, visit);
  };
  ts.forEachChild(scope, visit);
  const found = inner.filter((node) => nameOf(node) === name);
  return found.length > 0 || inner.length === 0 ? found : inner.flatMap((node) => declarations(node, name));
}

/** Returns the value of a declaration: for a function, its body. */
export function valueOf(declaration: ts.Node): ts.Node {
  if (ts.isFunctionLike(declaration)) return ('body' in declaration ? declaration.body : undefined) ?? declaration;
  if (ts.isShorthandPropertyAssignment(declaration)) return declaration;
  return ('initializer' in declaration ? (declaration.initializer as ts.Node | undefined) : undefined) ?? declaration;
}

function place(what: string, mentions: readonly string[], pick: (node: ts.Node) => ts.Node | undefined): Place {
  return {
    called: [what, ...mentions].join(' '),
    find(scope) {
      const picked = within(scope).flatMap((node) => pick(node) ?? []);
      const found = [...new Set(picked)].filter((node) => mentions.every((name) => isMentioned(node, name)));
      return found
        .filter((node) => !found.some((other) => other !== node && isWithin(other, node)))
        .map((node) => ({ start: node.getStart(), end: node.end, node }));
    },
  };
}

function within(scope: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(scope);
  return found;
}

function isWithin(inner: ts.Node, outer: ts.Node): boolean {
  return outer.pos <= inner.pos && inner.end <= outer.end;
}

function isMentioned(scope: ts.Node, name: string): boolean {
  return within(scope).some(
    (node) => (ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isStringLiteral(node)) && node.text === name,
  );
}

function isCallOf(node: ts.Node, name: string): node is ts.CallExpression | ts.NewExpression {
  return (ts.isCallExpression(node) || ts.isNewExpression(node)) && lastNameOf(node.expression) === name;
}

function lastNameOf(expression: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(expression)) return expression.name.text;
  return ts.isIdentifier(expression) ? expression.text : undefined;
}

type Entry = ts.PropertyAssignment | ts.ShorthandPropertyAssignment;

function isEntry(node: ts.Node): node is Entry {
  return ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node);
}

function isDeclaration(node: ts.Node): boolean {
  if (ts.isConstructorDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node))
    return node.body !== undefined;
  return (
    isEntry(node) ||
    ts.isClassDeclaration(node) ||
    ts.isAccessor(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isPropertyDeclaration(node)
  );
}

function nameOf(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const name = 'name' in node ? (node.name as ts.Node | undefined) : undefined;
  if (name === undefined) return undefined;
  return ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || ts.isStringLiteral(name) ? name.text : undefined;
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
