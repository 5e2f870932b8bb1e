/** Values as text for comparisons with a golden text: the same on every machine and after every move of a source line. */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';

/** Without stacks, and without binary values, because another version of Node may compress an input otherwise. */
export function plainText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part instanceof Uint8Array) return 'binary';
    if (part instanceof Set) return [...(part as ReadonlySet<unknown>)].sort();
    return typeof part === 'string' ? withoutStacks(part) : part;
  });
}

export function rowText(row: DynamoItem): string {
  const names = Object.keys(row).sort();
  return plainText(names.map((name) => [name, row[name]]));
}

export function withoutStacks(text: string): string {
  return text.replaceAll(/\n\s+at .*/g, '');
}
