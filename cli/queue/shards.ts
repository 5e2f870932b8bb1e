import type { QueueConnection } from '../connection.ts';

/** As many as are deployed, or more: as many as the queue's row says were ever in use. */
export async function shardsInUse({ queue, queues, shards }: QueueConnection): Promise<number> {
  const record = await queues.glance(queue);
  return Math.max(shards, record?.shards ?? 0);
}
