import type { QueueConnection } from '../connection.ts';

/** Returns the number of shards: the deployed number, or a larger one that was ever in use according to the queue's row. */
export async function shardsInUse({ queue, queues, shards }: QueueConnection): Promise<number> {
  const record = await queues.glance(queue);
  return Math.max(shards, record?.shards ?? 0);
}
