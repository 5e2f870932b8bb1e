/** Expressions split into words and signs. */
import { validationFault } from '../fault.ts';

type TokenKind = 'word' | 'name' | 'value' | 'number' | 'sign' | 'stray' | 'end';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export type ExpressionKind =
  | 'ConditionExpression'
  | 'FilterExpression'
  | 'KeyConditionExpression'
  | 'ProjectionExpression'
  | 'UpdateExpression';

export function expressionFault(kind: ExpressionKind, message: string): Error {
  return validationFault(`Invalid ${kind}: ${message}`);
}

const MAXIMUM_EXPRESSION_BYTES = 4096;

/** A position in an expression, and the errors that name it. */
export class Tokens {
  readonly kind: ExpressionKind;
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(kind: ExpressionKind, text: string) {
    this.kind = kind;
    this.#text = text;
    if (text === '') throw this.fault('The expression can not be empty;');
    const bytes = Buffer.byteLength(text);
    if (bytes > MAXIMUM_EXPRESSION_BYTES) {
      throw this.fault(`Expression size has exceeded the maximum allowed size; expression size: ${bytes}`);
    }
    this.#tokens = split(text);
  }

  get current(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  get following(): Token {
    return this.#tokens[this.#at + 1] ?? END;
  }

  take(): Token {
    const token = this.current;
    this.#at++;
    return token;
  }

  /** Takes the sign if it comes next. */
  accept(sign: string): boolean {
    const isNext = this.current.kind === 'sign' && this.current.text === sign;
    if (isNext) this.#at++;
    return isNext;
  }

  expect(sign: string): void {
    if (!this.accept(sign)) throw this.syntaxFault();
  }

  isKeyword(keyword: string): boolean {
    return this.current.kind === 'word' && this.current.text.toUpperCase() === keyword;
  }

  acceptKeyword(keyword: string): boolean {
    const isNext = this.isKeyword(keyword);
    if (isNext) this.#at++;
    return isNext;
  }

  expectEnd(): void {
    if (this.current.kind !== 'end') throw this.syntaxFault();
  }

  fault(message: string): Error {
    return expressionFault(this.kind, message);
  }

  /** The current token is not allowed at its position. */
  syntaxFault(): Error {
    const token = this.current;
    const before = this.#tokens[this.#at - 1] ?? token;
    const after = this.#tokens[this.#at + 1] ?? token;
    const near = this.#text.slice(before.start, token.kind === 'end' ? before.end : after.end).trim();
    const shown = token.kind === 'end' ? '<EOF>' : token.text;
    return this.fault(`Syntax error; token: "${shown}", near: "${near}"`);
  }
}

const END: Token = { kind: 'end', text: '', start: 0, end: 0 };

/** Words that are part of the grammar and never a name, in any case. */
export const KEYWORDS: ReadonlySet<string> = new Set([
  ...['AND', 'OR', 'NOT', 'BETWEEN', 'IN'],
  ...['SET', 'REMOVE', 'ADD', 'DELETE'],
]);

const TOKEN =
  /(?<space>\s+)|(?<name>#\w+)|(?<value>:\w+)|(?<word>[a-z]\w*)|(?<number>0|[1-9]\d*)|(?<sign><>|<=|>=|[=<>()[\].,+-])/iy;

function split(text: string): Token[] {
  const tokens: Token[] = [];
  let start = 0;
  while (start < text.length) {
    TOKEN.lastIndex = start;
    const match = TOKEN.exec(text);
    const kind = match === null ? 'stray' : kindOf(match.groups ?? {});
    const end = match === null ? start + 1 : TOKEN.lastIndex;
    if (kind !== 'space') tokens.push({ kind, text: text.slice(start, end), start, end });
    start = end;
  }
  tokens.push({ kind: 'end', text: '', start, end: start });
  return tokens;
}

function kindOf(groups: Readonly<Record<string, string | undefined>>): TokenKind | 'space' {
  if (groups.space !== undefined) return 'space';
  if (groups.name !== undefined) return 'name';
  if (groups.value !== undefined) return 'value';
  if (groups.word !== undefined) return 'word';
  return groups.number !== undefined ? 'number' : 'sign';
}
