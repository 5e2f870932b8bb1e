/** Valid header values. A refused value is never quoted, because it may be a token or a signature. */

/** Visible ASCII, spaces and tabs. Node would also send bytes above it, but a signature covers them in another encoding. */
const HEADER_VALUE = /^[\t\x20-\x7E]*$/;

/** @throws TypeError for text that would form a separate header or request */
export function validHeader(name: string, value: string): string {
  if (!HEADER_VALUE.test(value)) throw new TypeError(`the header ${name} holds characters that no header may have`);
  return value;
}
