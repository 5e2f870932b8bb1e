/**
 * Whether two values have the same content:
 * JSON, plus DynamoDB's sets and bytes. The order of a set does not matter.
 */
export function isSame(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  if (Array.isArray(left)) return isSameList(left, right as readonly unknown[]);
  if (left instanceof Uint8Array) return isSameList(left, right as Uint8Array);
  if (left instanceof Set) return isSameSet(left, right as ReadonlySet<unknown>);
  return isSameRecord(left as Record<string, unknown>, right as Record<string, unknown>);
}

function isSameList<T>(left: ArrayLike<T>, right: ArrayLike<T>): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (!isSame(left[at], right[at])) return false;
  return true;
}

function isSameSet(left: ReadonlySet<unknown>, right: ReadonlySet<unknown>): boolean {
  if (left.size !== right.size) return false;
  const others = [...right];
  return [...left].every(
    (element) => right.has(element) || (typeof element === 'object' && others.some((other) => isSame(element, other))),
  );
}

function isSameRecord(left: Readonly<Record<string, unknown>>, right: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name]));
}
