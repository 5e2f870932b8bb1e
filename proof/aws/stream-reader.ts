/** Reads the table's stream as the waker does, and notes when it was invoked for each task. */
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { insertedTasks } from '../../shared/dynamo/inserted.ts';
import { putEffect } from './effects.ts';
import { STREAM_QUEUE, streamKey } from './settings.ts';

export async function handler(event: DynamoDBStreamEvent): Promise<void> {
  const invokedAt = Date.now();
  const ids = insertedTasks(event.Records).get(STREAM_QUEUE) ?? [];
  await Promise.all(ids.map((id) => putEffect({ id: streamKey(id), invokedAt })));
}
