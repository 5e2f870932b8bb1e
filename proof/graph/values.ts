/** Values as TLC prints them, read: numbers, strings, names of model values, tuples, sets, records and functions. */
export type Value = number | string | boolean | readonly Value[] | { readonly [name: string]: Value };
export type RecordValue = Readonly<Record<string, Value>>;

/** A state: its variables. A set is read as a list, a function as a record whose names are the texts of its arguments (`a`, or `a,1`). */
export function readState(text: string): RecordValue {
  const reader = new Reader(text);
  const variables: [string, Value][] = [];
  while (reader.takes('/\\')) {
    const name = reader.name();
    reader.expect('=');
    variables.push([name, reader.value()]);
  }
  reader.expectEnd();
  return Object.fromEntries(variables);
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  takes(token: string): boolean {
    this.#skip();
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  expect(token: string): void {
    if (!this.takes(token)) this.#fail(token);
  }

  expectEnd(): void {
    this.#skip();
    if (this.#at < this.#text.length) this.#fail('the end');
  }

  name(): string {
    return this.#match(/\w+/y) ?? this.#fail('a name');
  }

  value(): Value {
    if (this.takes('<<')) return this.#list('>>');
    if (this.takes('{')) return this.#list('}');
    if (this.takes('[')) return this.#record();
    if (this.takes('(')) return this.#function();
    const text = this.#match(/"[^"]*"/y);
    if (text !== undefined) return text.slice(1, -1);
    const number = this.#match(/-?\d+/y);
    if (number !== undefined) return Number(number);
    const name = this.name();
    return name === 'TRUE' || name === 'FALSE' ? name === 'TRUE' : name;
  }

  #list(end: string): readonly Value[] {
    const values: Value[] = [];
    if (this.takes(end)) return values;
    do values.push(this.value());
    while (this.takes(','));
    this.expect(end);
    return values;
  }

  #record(): RecordValue {
    const fields: [string, Value][] = [];
    do {
      const name = this.name();
      this.expect('|->');
      fields.push([name, this.value()]);
    } while (this.takes(','));
    this.expect(']');
    return Object.fromEntries(fields);
  }

  #function(): RecordValue {
    const entries: [string, Value][] = [];
    do {
      const argument = this.value();
      this.expect(':>');
      entries.push([textOf(argument), this.value()]);
    } while (this.takes('@@'));
    this.expect(')');
    return Object.fromEntries(entries);
  }

  #skip(): void {
    this.#match(/\s*/y);
  }

  #match(pattern: RegExp): string | undefined {
    if (pattern.source !== '\\s*') this.#skip();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #fail(wanted: string): never {
    throw new Error(
      `a state has ${JSON.stringify(this.#text.slice(this.#at, this.#at + 40))} where ${wanted} should be`,
    );
  }
}

/** The text of a name, or of what a tuple holds: `a,work,1`. */
export function textOf(value: Value | undefined): string {
  return Array.isArray(value) ? value.map(textOf).join(',') : typeof value === 'string' ? value : JSON.stringify(value);
}
