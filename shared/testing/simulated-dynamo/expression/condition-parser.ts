/**
 * Conditions, filters and key conditions: one grammar.
 *
 * ```
 * condition = term { OR term }          term = factor { AND factor }
 * factor    = NOT factor | predicate(…) | operand comparator operand
 *           | operand BETWEEN operand AND operand | operand IN (operand, …) | ( condition )
 * operand   = path | :value | size(operand) | ( operand )
 * ```
 */
import { conditionRules } from './condition-rules.ts';
import { isNested, noMentions, parsePath } from './path.ts';
import type { Comparator, Condition, Operand, Parsed, Predicate, Rule } from './syntax.ts';
import type { ExpressionKind } from './token.ts';
import { KEYWORDS, Tokens } from './token.ts';

const COMPARATORS: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=']);
const PREDICATES: ReadonlyMap<string, number> = new Map([
  ['attribute_exists', 1],
  ['attribute_not_exists', 1],
  ['attribute_type', 2],
  ['begins_with', 2],
  ['contains', 2],
]);
const UPDATE_FUNCTIONS: ReadonlySet<string> = new Set(['if_not_exists', 'list_append']);
const MOST_OPERATORS = 300;
const LONGEST_LIST = 100;

/** @throws DynamoFault for every error that the service finds before it reads the table */
export function parseCondition(kind: ExpressionKind, text: string): Parsed<Condition> {
  const parser = new ConditionParser(new Tokens(kind, text));
  return parser.parse();
}

type Expression = Condition | Operand;

class ConditionParser {
  readonly #tokens: Tokens;
  readonly #mentions = noMentions();
  readonly #rules: Rule[] = [];
  #operators = 0;
  /** The expression inside the last parentheses. */
  #lastInside: Expression | undefined;

  constructor(tokens: Tokens) {
    this.#tokens = tokens;
  }

  parse(): Parsed<Condition> {
    const root = this.#condition();
    this.#tokens.expectEnd();
    if (this.#operators > MOST_OPERATORS) {
      throw this.#tokens.fault(`The expression contains too many operators; operator count: ${this.#operators}`);
    }
    return { ...this.#mentions, root, nestedPaths: this.#mentions.paths.filter(isNested), rules: this.#rules };
  }

  #condition(): Condition {
    return this.#asCondition(this.#disjunction());
  }

  #disjunction(): Expression {
    let left = this.#conjunction();
    while (this.#tokens.isKeyword('OR')) left = this.#joined('or', left, () => this.#conjunction());
    return left;
  }

  #conjunction(): Expression {
    let left = this.#factor();
    while (this.#tokens.isKeyword('AND')) left = this.#joined('and', left, () => this.#factor());
    return left;
  }

  #joined(kind: 'and' | 'or', leftExpression: Expression, parseRight: () => Expression): Condition {
    const left = this.#asCondition(leftExpression);
    this.#tokens.take();
    this.#operators++;
    return { kind, left, right: this.#asCondition(parseRight()) };
  }

  #factor(): Expression {
    if (this.#tokens.acceptKeyword('NOT')) {
      this.#operators++;
      return { kind: 'not', condition: this.#asCondition(this.#factor()) };
    }
    const first = this.#primary();
    if (!isOperand(first)) return first;
    return this.#comparison(first) ?? first;
  }

  /** Parses what follows an operand; undefined if it is not a comparison. */
  #comparison(left: Operand): Condition | undefined {
    const { kind, text } = this.#tokens.current;
    if (kind === 'sign' && COMPARATORS.has(text)) {
      this.#tokens.take();
      return this.#checked({ kind: 'compare', comparator: text as Comparator, left, right: this.#operand() });
    }
    if (this.#tokens.acceptKeyword('BETWEEN')) {
      const low = this.#operand();
      if (!this.#tokens.acceptKeyword('AND')) throw this.#tokens.syntaxFault();
      return this.#checked({ kind: 'between', operand: left, low, high: this.#operand() });
    }
    if (this.#tokens.acceptKeyword('IN')) {
      return this.#checked({ kind: 'in', operand: left, list: this.#list() });
    }
    return undefined;
  }

  #list(): Operand[] {
    this.#tokens.expect('(');
    const list = [this.#operand()];
    while (this.#tokens.accept(',')) list.push(this.#operand());
    this.#tokens.expect(')');
    if (list.length > LONGEST_LIST) {
      throw this.#tokens.fault(
        `The IN operator is provided with too many operands; number of operands: ${list.length}`,
      );
    }
    return list;
  }

  #operand(): Operand {
    const operand = this.#primary();
    if (!isOperand(operand)) throw this.#tokens.syntaxFault();
    return operand;
  }

  #primary(): Expression {
    const { kind, text } = this.#tokens.current;
    if (kind === 'sign' && text === '(') return this.#parenthesised();
    if (kind === 'value') {
      this.#mentions.values.add(text);
      return { kind: 'value', placeholder: this.#tokens.take().text };
    }
    const isCall = kind === 'word' && !KEYWORDS.has(text.toUpperCase()) && this.#tokens.following.text === '(';
    return isCall ? this.#call(text) : parsePath(this.#tokens, this.#mentions);
  }

  #parenthesised(): Expression {
    this.#tokens.expect('(');
    const inside = this.#disjunction();
    this.#tokens.expect(')');
    // Every other content of parentheses makes a new node; only nested parentheses return the same node.
    if (inside === this.#lastInside) throw this.#tokens.fault('The expression has redundant parentheses;');
    this.#lastInside = inside;
    return inside;
  }

  #call(name: string): Expression {
    const arity = name === 'size' ? 1 : PREDICATES.get(name);
    if (arity === undefined) throw this.#unknownFunction(name);
    this.#tokens.take();
    this.#tokens.expect('(');
    const operands: [Operand, ...Operand[]] = [this.#argument(name)];
    while (this.#tokens.accept(',')) operands.push(this.#argument(name));
    this.#tokens.expect(')');
    if (operands.length !== arity) {
      throw this.#tokens.fault(
        `Incorrect number of operands for operator or function; operator or function: ${name}, ` +
          `number of operands: ${operands.length}`,
      );
    }
    if (name !== 'size') return this.#checked({ kind: 'predicate', predicate: name as Predicate, operands });
    const size: Operand = { kind: 'size', of: operands[0] };
    this.#rules.push(...conditionRules(this.#tokens.kind, size));
    return size;
  }

  #argument(name: string): Operand {
    const argument = this.#disjunction();
    if (!isOperand(argument)) throw this.#misplaced(argument, name);
    return argument;
  }

  #checked(condition: Condition): Condition {
    this.#operators++;
    this.#rules.push(...conditionRules(this.#tokens.kind, condition));
    return condition;
  }

  #asCondition(expression: Expression): Condition {
    if (!isOperand(expression)) return expression;
    if (expression.kind === 'size') throw this.#misplaced(expression, 'size');
    throw this.#tokens.syntaxFault();
  }

  #misplaced(expression: Expression, otherwise: string): Error {
    const name = expression.kind === 'predicate' ? expression.predicate : otherwise;
    return this.#tokens.fault(`The function is not allowed to be used this way in an expression; function: ${name}`);
  }

  #unknownFunction(name: string): Error {
    const message = UPDATE_FUNCTIONS.has(name)
      ? `The function is not allowed in a condition expression; function: ${name}`
      : `Invalid function name; function: ${name}`;
    return this.#tokens.fault(message);
  }
}

function isOperand(expression: Expression): expression is Operand {
  return expression.kind === 'path' || expression.kind === 'value' || expression.kind === 'size';
}
