/** Fields of a JSON body, whose names Consul reads in any case. */
import { badRequest } from './problem.ts';

export class Body {
  readonly #fields = new Map<string, unknown>();
  readonly #prefix: string;

  /** @param prefix what Consul says before the cause @throws Problem 400 when it is no object */
  constructor(json: unknown, prefix: string) {
    this.#prefix = prefix;
    if (json === undefined || json === null) return;
    if (typeof json !== 'object' || Array.isArray(json)) throw badRequest(`${prefix}: expected a JSON object`);
    for (const [name, value] of Object.entries(json)) this.#fields.set(name.toLowerCase(), value);
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  raw(name: string): unknown {
    return this.#fields.get(name.toLowerCase());
  }

  text(name: string): string {
    const value = this.raw(name) ?? '';
    if (typeof value !== 'string') throw this.wrong(name, 'a string');
    return value;
  }

  texts(name: string): readonly string[] {
    const value = this.raw(name) ?? [];
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw this.wrong(name, 'a list of strings');
    return value;
  }

  object(name: string): Body | undefined {
    const value = this.raw(name);
    return value === undefined || value === null ? undefined : new Body(value, this.#prefix);
  }

  list(name: string): readonly Body[] {
    const value = this.raw(name) ?? [];
    if (!Array.isArray(value)) throw this.wrong(name, 'a list');
    return value.map((one) => new Body(one, this.#prefix));
  }

  wrong(name: string, expected: string): Error {
    return badRequest(`${this.#prefix}: '${name}' expected ${expected}`);
  }
}
