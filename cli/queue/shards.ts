import type { QueueConnection } from '../connection.ts';

/** Returns the number of shards: the larger of the deployed number and the largest one that the queue's row remembers. */
export async function shardsInUse({ queue, queues, shards }: QueueConnection): Promise<number> {
  const record = await queues.glance(queue);
  return Math.max(shards, record?.shards ?? 0);
}
