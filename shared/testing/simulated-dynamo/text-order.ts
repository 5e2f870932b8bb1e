/**
 * DynamoDB orders strings by their UTF-8 bytes.
 * JavaScript orders them by UTF-16 units, which is the same except where a surrogate meets a unit above the surrogates.
 */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const shared = Math.min(left.length, right.length);
  for (let at = 0; at < shared; at++) {
    const a = left.charCodeAt(at);
    const b = right.charCodeAt(at);
    if (a !== b) return codePointRank(a) - codePointRank(b);
  }
  return left.length - right.length;
}

export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const shared = Math.min(left.length, right.length);
  for (let at = 0; at < shared; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Surrogates rank above all units, because they encode larger code points. */
function codePointRank(unit: number): number {
  return 0xd800 <= unit && unit <= 0xdfff ? unit + 0x10000 : unit;
}
