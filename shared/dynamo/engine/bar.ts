import type { DynamoItem } from './driver.ts';

/** Returns a row for its readers: a row that only refuses late copies of a write counts as missing. */
export function standing(item: DynamoItem | undefined): DynamoItem | undefined {
  return item?.barred === undefined ? item : undefined;
}
