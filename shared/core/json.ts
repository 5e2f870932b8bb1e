/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Says that a text is not JSON, and where. The engine's own message repeats some of the text, which may be a secret.
 * @param cause what `JSON.parse` has thrown
 */
export function notJson(cause: unknown): string {
  const [, position] = / in JSON at position (\d+)/.exec(cause instanceof Error ? cause.message : '') ?? [];
  return position === undefined ? 'not JSON' : `not JSON at position ${position}`;
}
