/** Listings that read the table say where they stopped: a list that is cut short must not look complete. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { scannedTasks } from '../../../cli/queue/scanned-tasks.ts';

const damaged = { pk: { S: 'task#q#a' }, sk: { S: 'task' } };

/** Two pages of 3 read units each. */
async function scan(maxReadUnits: number) {
  const client = new DynamoDBClient({ region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 's' } });
  const page = { Items: [damaged], ConsumedCapacity: { CapacityUnits: 3 } };
  const pages = [{ ...page, LastEvaluatedKey: damaged }, page];
  let requests = 0;
  Object.assign(client, { send: () => Promise.resolve(pages[requests++]) });
  const [cut, skipped, units]: [number[], unknown[], number[]] = [[], [], []];
  const found = await Array.fromAsync(
    scannedTasks(
      { openClient: async () => client, table: 't' },
      { queue: 'q', where: { state: 'done' }, maxReadUnits },
      {
        onPage: (used) => void units.push(used),
        onCut: (used) => void cut.push(used),
        onDamaged: (error) => void skipped.push(error),
      },
    ),
  );
  return { found, cut, skipped: skipped.length, units, requests };
}

test.each([
  ['more than the table has', 7, { cut: [], skipped: 2, units: [3, 3], requests: 2 }],
  ['as many as the table has', 6, { cut: [], skipped: 2, units: [3, 3], requests: 2 }],
  ['fewer', 3, { cut: [3], skipped: 1, units: [3], requests: 1 }],
])('reads %s, and says so: %i units', async (_, maxReadUnits, expected) => {
  expect(await scan(maxReadUnits)).toEqual({ found: [], ...expected });
});
