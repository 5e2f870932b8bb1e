import type { DynamoItem } from './driver.ts';

/** Returns a row as its readers see it: one that only refuses a late copy of a write is none. */
export function standing(item: DynamoItem | undefined): DynamoItem | undefined {
  return item?.barred === undefined ? item : undefined;
}
