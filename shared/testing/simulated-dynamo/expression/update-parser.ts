/**
 * Update expressions.
 *
 * ```
 * update  = clause { clause }, each kind at most once
 * clause  = SET path = value, … | REMOVE path, … | ADD path :value, … | DELETE path :value, …
 * value   = operand [ + operand | - operand ]
 * operand = path | :value | if_not_exists(path, operand) | list_append(operand, operand) | ( operand )
 * ```
 */
import { isNested, noMentions, parsePath, separatePaths } from './path.ts';
import type { Parsed, Path, UpdateAction, UpdateOperand, UpdateValue, ValueReference } from './syntax.ts';
import type { Rule } from './syntax.ts';
import { Tokens } from './token.ts';
import { actionRules, appendRules } from './update-rules.ts';

const CLAUSES = ['SET', 'REMOVE', 'ADD', 'DELETE'] as const;
const CONDITION_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['attribute_exists', 'attribute_not_exists', 'attribute_type', 'begins_with', 'contains', 'size'],
]);

/** @throws DynamoFault */
export function parseUpdate(text: string): Parsed<readonly UpdateAction[]> {
  return new UpdateParser(new Tokens('UpdateExpression', text)).parse();
}

class UpdateParser {
  readonly #tokens: Tokens;
  readonly #mentions = noMentions();
  readonly #rules: Rule[] = [];

  constructor(tokens: Tokens) {
    this.#tokens = tokens;
  }

  parse(): Parsed<readonly UpdateAction[]> {
    const actions: UpdateAction[] = [];
    const seen = new Set<string>();
    do {
      const clause = CLAUSES.find((keyword) => this.#tokens.isKeyword(keyword));
      if (clause === undefined) throw this.#tokens.syntaxFault();
      if (seen.has(clause)) {
        throw this.#tokens.fault(`The "${clause}" section can only be used once in an update expression;`);
      }
      seen.add(clause);
      this.#tokens.take();
      do actions.push(this.#action(clause));
      while (this.#tokens.accept(','));
    } while (this.#tokens.current.kind !== 'end');
    const paths = actions.map((action) => action.path);
    const rules = [separatePaths('UpdateExpression', paths), ...this.#rules];
    return { ...this.#mentions, root: actions, nestedPaths: this.#mentions.paths.filter(isNested), rules };
  }

  #action(clause: (typeof CLAUSES)[number]): UpdateAction {
    const path = this.#path();
    if (clause === 'REMOVE') return { kind: 'remove', path };
    if (clause === 'SET') {
      this.#tokens.expect('=');
      return this.#checked({ kind: 'set', path, value: this.#value() });
    }
    return this.#checked({ kind: clause === 'ADD' ? 'add' : 'delete', path, value: this.#reference() });
  }

  #checked(action: UpdateAction): UpdateAction {
    this.#rules.push(...actionRules(action));
    return action;
  }

  #value(): UpdateValue {
    if (!this.#tokens.accept('(')) return this.#sum(this.#operand());
    // A parenthesis may hold a whole sum, or only its first operand.
    if (this.#tokens.accept('(')) throw this.#tokens.fault('The expression has redundant parentheses;');
    const inside = this.#value();
    this.#tokens.expect(')');
    return inside.kind === 'sum' ? inside : this.#sum(inside);
  }

  #sum(left: UpdateOperand): UpdateValue {
    const sign = (['+', '-'] as const).find((candidate) => this.#tokens.accept(candidate));
    if (sign === undefined) return left;
    const right = this.#groupedOperand();
    this.#requireNoAppend(left);
    this.#requireNoAppend(right);
    return { kind: 'sum', sign, left, right };
  }

  #groupedOperand(): UpdateOperand {
    if (!this.#tokens.accept('(')) return this.#operand();
    const operand = this.#operand();
    this.#tokens.expect(')');
    return operand;
  }

  #operand(): UpdateOperand {
    const { kind, text } = this.#tokens.current;
    if (kind === 'value') return this.#reference();
    const isCall = kind === 'word' && this.#tokens.following.text === '(';
    return isCall ? this.#call(text) : this.#path();
  }

  #call(name: string): UpdateOperand {
    if (name !== 'if_not_exists' && name !== 'list_append') throw this.#unknownFunction(name);
    this.#tokens.take();
    this.#tokens.expect('(');
    const operands = [this.#operand()];
    while (this.#tokens.accept(',')) operands.push(this.#operand());
    this.#tokens.expect(')');
    const [first, second] = operands;
    if (first === undefined || second === undefined || operands.length > 2) {
      throw this.#tokens.fault(
        `Incorrect number of operands for operator or function; operator or function: ${name}, ` +
          `number of operands: ${operands.length}`,
      );
    }
    operands.forEach((operand) => this.#requireNoAppend(operand));
    return name === 'list_append' ? this.#append(first, second) : this.#fallback(first, second);
  }

  /** Lists are appended only as the whole value of a `SET`. */
  #requireNoAppend(operand: UpdateOperand): void {
    if (operand.kind !== 'listAppend') return;
    throw this.#tokens.fault('The function is not allowed to be used this way in an expression; function: list_append');
  }

  #append(first: UpdateOperand, second: UpdateOperand): UpdateOperand {
    this.#rules.push(...appendRules(first, second));
    return { kind: 'listAppend', first, second };
  }

  #fallback(path: UpdateOperand, otherwise: UpdateOperand): UpdateOperand {
    if (path.kind !== 'path') {
      throw this.#tokens.fault('Operator or function requires a document path; operator or function: if_not_exists');
    }
    return { kind: 'ifNotExists', path, otherwise };
  }

  #path(): Path {
    return parsePath(this.#tokens, this.#mentions);
  }

  #reference(): ValueReference {
    if (this.#tokens.current.kind !== 'value') throw this.#tokens.syntaxFault();
    const placeholder = this.#tokens.take().text;
    this.#mentions.values.add(placeholder);
    return { kind: 'value', placeholder };
  }

  #unknownFunction(name: string): Error {
    const message = CONDITION_FUNCTIONS.has(name)
      ? `The function is not allowed in an update expression; function: ${name}`
      : `Invalid function name; function: ${name}`;
    return this.#tokens.fault(message);
  }
}
