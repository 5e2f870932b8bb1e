/** Our two lint rules (`oxlint.config.ts`), in the form of an ESLint plugin. */

interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly name?: string;
  readonly callee?: Node;
  readonly object?: Node;
  readonly tag?: Node;
  readonly arguments?: readonly Node[];
}
interface Context {
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

const plugin = {
  meta: { name: 'house' },
  rules: { 'unique-titles': uniqueTitles, 'date-with-argument': dateWithArgument },
};
export default plugin;
