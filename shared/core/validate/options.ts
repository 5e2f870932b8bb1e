/** Checks of arguments: names of options, names, whole numbers. */
import { ConfigurationError, shown } from '../errors.ts';
import { utf8Bytes } from '../runtime/bytes.ts';

/** Refuses a list without some option of `T`: a new option must be known where it is checked. */
type Complete<T, Names extends readonly PropertyKey[]> =
  Exclude<keyof T, Names[number]> extends never ? unknown : { readonly missing: Exclude<keyof T, Names[number]> };

/**
 * Checks the names of a user's options, once, at the edge. The compiler refuses a list of names that is not complete.
 * @throws ConfigurationError for a value that is not an object, and for an unknown name, which would silently be ignored
 */
export function validOptions<T extends object, const Names extends readonly (keyof T & string)[]>(
  what: string,
  options: T,
  known: Names & Complete<T, Names>,
): T {
  const names: readonly string[] = known;
  if (!isObject(options))
    throw new ConfigurationError(`${what} are ${shown(options)}: must be an object, of ${names.join(', ')}`);
  for (const [name, value] of Object.entries(options)) {
    if (names.includes(name) || value === undefined) continue;
    throw new ConfigurationError(
      `${what}: unknown option ${shown(name)}: known are ${names.join(', ')}${hintFor(name, names)}`,
    );
  }
  return options;
}

/** Returns the end of a message about an unknown name: the name that the user probably meant, if any. */
export function hintFor(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the longest name that contains the given one or is contained in it, as `ttlMs` contains `ttl`; otherwise a name within two typing
 * errors.
 */
function nearest(name: string, known: readonly string[]): string | undefined {
  const asked = name.toLowerCase();
  const [holding] = known
    .filter((one) => asked.includes(one.toLowerCase()) || one.toLowerCase().includes(asked))
    .sort((a, b) => b.length - a.length);
  const [closest] = known
    .map((one) => ({ one, errors: typingErrors(asked, one.toLowerCase()) }))
    .filter(({ one, errors }) => errors <= 2 && errors < one.length / 2)
    .sort((a, b) => a.errors - b.errors);
  return holding ?? closest?.one;
}

/** Counts the characters to insert, delete, replace or swap with a neighbour to turn one text into the other. */
function typingErrors(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, isSwap ? at(i - 2, j - 2) + 1 : Infinity);
    }
  }
  return at(from.length, to.length);
}

/** Names are parts of keys; with escaping and a kind they stay far below DynamoDB's 2,048 bytes. */
export const NAME_LIMIT_BYTES = 512;

/**
 * Checks a name that a user gave (a queue, a task id, a lock key, a session name) once, at the edge.
 * Any well-formed text is allowed: nothing in a name can reach an expression, and parts of keys are escaped.
 * @throws ConfigurationError
 */
export function validName(what: string, name: unknown): string {
  if (typeof name !== 'string') throw new ConfigurationError(`${what} is ${describe(name)}: must be a string`);
  if (name === '') throw new ConfigurationError(`${what} is empty: must have at least one character`);
  if (!name.isWellFormed())
    throw new ConfigurationError(
      `${what} ${JSON.stringify(name)} is not well-formed Unicode: it has half of a surrogate pair`,
    );
  const bytes = utf8Bytes(name);
  if (bytes > NAME_LIMIT_BYTES)
    throw new ConfigurationError(
      `${what} ${JSON.stringify(name.slice(0, 40))}… has ${bytes} bytes: at most ${NAME_LIMIT_BYTES} are allowed`,
    );
  return name;
}

/** The same, if it is given. @throws ConfigurationError */
export function givenName(what: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : validName(what, name);
}

function describe(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}

/** Checks a number that a user gave, once, at the edge. @throws ConfigurationError */
export function validWholeNumber(
  what: string,
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new ConfigurationError(`${what} = ${shown(value)}: must be a whole number ${range}`);
  }
  return value;
}
