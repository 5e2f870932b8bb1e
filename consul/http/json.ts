/**
 * JSON as Go's clients need it: whole numbers of 64 bits stay exact in both directions.
 * Flags of Consul's own lock and semaphore are larger than a JavaScript number holds.
 */

/** Part of the language since 2025, and not yet of the compiler's library. */
const language = JSON as typeof JSON & { rawJSON(text: string): unknown };
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

/** @throws SyntaxError */
export function parseExactly(text: string): unknown {
  return parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^\d+$/.test(source) ? BigInt(source) : value,
  );
}

export function stringifyExactly(value: unknown, indent: number): string {
  const exact = (_key: string, member: unknown): unknown =>
    typeof member === 'bigint' ? language.rawJSON(String(member)) : member;
  return JSON.stringify(value, exact, indent);
}
