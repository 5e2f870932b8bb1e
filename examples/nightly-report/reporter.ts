/** One machine's reporter: campaigns, and writes the night's report unless it exists. Started by `main.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateCommandOutput } from '@aws-sdk/lib-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Duration, Leadership } from 'leasehold';
import { createLeasehold, dynamoFence } from 'leasehold';
import { TABLE } from '../table.ts';

const [name = 'reporter', election = 'nightly-report', night = '', expiry = '30s', workMs = '1000'] =
  process.argv.slice(2);

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
using leasehold = createLeasehold({ table: TABLE });
await using session = await leasehold.session({ name, ttl: expiry as Duration, lockDelay: '1s' });
await using leadership = await session.campaign(election, { value: name });
say(`leads in term ${leadership.term}`);
await reportOnce(leadership);

/** The user's row, stored in the examples' table for simplicity. */
async function reportOnce(leader: Leadership): Promise<void> {
  const target = { TableName: TABLE, Key: { pk: `report#${election}`, sk: night } };
  const guard = dynamoFence(leader);
  // First the fence, and with it the first read: from here on no leader of the past can write.
  const { Attributes: found }: UpdateCommandOutput = await documents.send(new UpdateCommand(guard.advance(target)));
  if (found?.report !== undefined) {
    say(`finds the report of ${night} written`);
    return;
  }
  say(`writes the report of ${night}`);
  await sleep(Number(workMs), undefined, { signal: leader.signal });
  await documents.send(
    new UpdateCommand(
      guard.update({
        ...target,
        UpdateExpression: 'SET report = :report ADD written :one',
        ExpressionAttributeValues: { ':report': `the report of ${night}, by ${name}`, ':one': 1 },
      }),
    ),
  );
  say(`has written the report of ${night}`);
}

function say(line: string): void {
  process.stdout.write(`${name} ${line}\n`);
}
