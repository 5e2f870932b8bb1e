import { utf8Bytes } from '../runtime/bytes.ts';
import { ConfigurationError } from '../errors.ts';

/** Names are parts of keys; with escaping and a kind they stay far below DynamoDB's 2,048 bytes. */
const NAME_LIMIT_BYTES = 512;

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
