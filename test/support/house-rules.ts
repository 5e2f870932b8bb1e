/** Our lint rules (`oxlint.config.ts`), in the form of an ESLint plugin. */

interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly name?: string;
  readonly callee?: Node;
  readonly object?: Node;
  readonly tag?: Node;
  readonly arguments?: readonly Node[];
  readonly property?: Node;
  readonly expression?: Node;
  readonly param?: Node | null;
  readonly params?: readonly Node[];
  readonly parent?: Node | null;
}
interface Context {
  readonly sourceCode: { getText(node: Node): string };
  report(problem: { node: Node; message: string }): void;
}

const uniqueTitles = {
  create(context: Context) {
    const scopes = [new Set<string>()];
    return {
      CallExpression(node: Node): void {
        const name = called(node);
        const [title, body] = node.arguments ?? [];
        if (title?.type === 'Literal' && body !== undefined && (name === 'test' || isDescribe(node))) {
          const key = `${name ?? ''} ${String(title.value)}`;
          const message = `another ${name ?? ''} beside it has this title: remove the copy, or say what differs`;
          if (scopes.at(-1)?.has(key)) context.report({ node: title, message });
          scopes.at(-1)?.add(key);
        }
        if (isDescribe(node)) scopes.push(new Set());
      },
      'CallExpression:exit'(node: Node): void {
        if (isDescribe(node)) scopes.pop();
      },
    };
  },
};

function isDescribe(node: Node): boolean {
  return called(node)?.startsWith('describe') === true && (node.arguments?.length ?? 0) > 1;
}

/** The name that a call begins with: `test` of `test.each(cases)(title, body)`. */
function called({ callee }: Node): string | undefined {
  let at = callee;
  while (at !== undefined && at.type !== 'Identifier') {
    if (at.type === 'CallExpression') at = at.callee;
    else if (at.type === 'MemberExpression') at = at.object;
    else if (at.type === 'TaggedTemplateExpression') at = at.tag;
    else return undefined;
  }
  return at?.name;
}

const dateWithArgument = {
  create(context: Context) {
    const message = "it reads the machine's clock: take a Clock (shared/core/runtime/clock.ts)";
    const isDate = ({ callee }: Node): boolean => callee?.type === 'Identifier' && callee.name === 'Date';
    return {
      NewExpression(node: Node): void {
        if (isDate(node) && node.arguments?.length === 0) context.report({ node, message });
      },
      CallExpression(node: Node): void {
        if (isDate(node)) context.report({ node, message });
      },
    };
  },
};

/** Code of the user's may throw an error whose `message` is a list or a getter that throws. */
const messageOfThrown = {
  create(context: Context) {
    const message =
      'what was thrown may be anything: take messageOf or shown of shared/core/errors.ts, or ask for a class of ours';
    return {
      MemberExpression(node: Node): void {
        const { property } = node;
        if (property?.name !== 'message' && property?.name !== 'stack') return;
        const thrown = unwrapped(node.object);
        const place = thrown?.type === 'Identifier' ? placeOfCatching(node, thrown.name) : undefined;
        if (place === undefined) return;
        const asked = new RegExp(`\\b${thrown?.name ?? ''}\\b instanceof (?!Error\\b)`);
        if (!asked.test(context.sourceCode.getText(place))) context.report({ node, message });
      },
    };
  },
};

function unwrapped(node: Node | undefined): Node | undefined {
  return node?.type === 'TSAsExpression' ? unwrapped(node.expression) : node;
}

/** The `catch` clause, or the function passed to `catch`, that binds the name around a node. */
function placeOfCatching(node: Node, name: string | undefined): Node | undefined {
  for (let at = node.parent; at !== undefined && at !== null; at = at.parent) {
    if (at.type === 'CatchClause' && at.param?.name === name) return at;
    if (at.params?.some((param) => param.name === name) === true)
      return at.parent?.callee?.property?.name === 'catch' ? at : undefined;
  }
  return undefined;
}

const plugin = {
  meta: { name: 'house' },
  rules: {
    'unique-titles': uniqueTitles,
    'date-with-argument': dateWithArgument,
    'message-of-thrown': messageOfThrown,
  },
};
export default plugin;
