import { ConfigurationError, shown } from '../errors.ts';

/**
 * Checks the names of options that a user gave, once, at the edge; `keyof T` keeps each list of them complete.
 * @throws ConfigurationError for what is no object, and for a name that nobody reads: misspelt, it would silently be its default
 */
export function validOptions<T extends object>(what: string, options: T, known: Readonly<Record<keyof T, true>>): T {
  const names = Object.keys(known);
  if (!isObject(options))
    throw new ConfigurationError(`${what} are ${shown(options)}: give an object, of ${names.join(', ')}`);
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(known, name) || value === undefined) continue;
    const near = nearest(name, names);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw new ConfigurationError(`${what}: unknown option ${shown(name)}: known are ${names.join(', ')}${hint}`);
  }
  return options;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Of those that hold the name, or are held by it, as `ttlMs` holds `ttl`: the longest. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const asked = name.toLowerCase();
  return known
    .filter((one) => asked.includes(one.toLowerCase()) || one.toLowerCase().includes(asked))
    .sort((a, b) => b.length - a.length)[0];
}
