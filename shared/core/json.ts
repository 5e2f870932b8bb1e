/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Reports that a text is not JSON, and the position. The engine's own message would repeat some of the text, which may be a secret.
 * @param cause the error of `JSON.parse`
 */
export function notJson(cause: unknown): string {
  const [, position] = / in JSON at position (\d+)/.exec(cause instanceof Error ? cause.message : '') ?? [];
  return position === undefined ? 'not JSON' : `not JSON at position ${position}`;
}
