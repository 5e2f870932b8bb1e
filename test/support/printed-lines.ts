/** Shared parts of the tests of printed lines: damaged rows and bad requests, and lines in a lasting form. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import { dataPointsOf } from './cloudwatch.ts';

/** A log line without what is the same in each. */
export function readableLine(line: string): string {
  if (!line.startsWith('{')) return line;
  const { level, message, timestamp, service, cold_start, sampling_rate, function_name, ...rest } = JSON.parse(
    line,
  ) as Record<string, unknown>;
  void [timestamp, cold_start, sampling_rate, function_name];
  return `${String(level)} ${String(service)}: ${String(message)} ${JSON.stringify(rest)}`;
}

/** The sum of each metric, or for times how many values it has. */
export function metricsOf(lines: readonly string[]): readonly string[] {
  const points = dataPointsOf(lines.join('\n'));
  const names = new Map<string, number>();
  for (const { namespace, name, dimensions, value } of points) {
    const whose = `METRIC ${namespace} ${JSON.stringify(dimensions)} ${name}${name.endsWith('Ms') ? ' values' : ''}`;
    names.set(whose, (names.get(whose) ?? 0) + (name.endsWith('Ms') ? 1 : value));
  }
  return [...names].map(([name, sum]) => `${name}: ${sum}`).sort();
}

/** Takes an attribute off a row, and returns the whole row of before. */
export async function damageRow(
  client: DynamoDBClient,
  table: string,
  { pk, sk }: RowKey,
  attribute: string,
): Promise<Record<string, AttributeValue> | undefined> {
  const { Attributes } = await client.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { pk: { S: pk }, sk: { S: sk } },
      UpdateExpression: 'REMOVE #attribute',
      ExpressionAttributeNames: { '#attribute': attribute },
      ReturnValues: 'ALL_OLD',
    }),
  );
  return Attributes;
}

export interface SentRequest {
  readonly target: string;
  readonly body: string;
}

/** A client that answers some requests with this error, and sends the others. */
export function refusingClient(
  client: DynamoDBClient,
  endpoint: string | null,
  type: string,
  isRefused: (request: SentRequest) => boolean,
): DynamoDBClient {
  const { requestHandler, region, credentials } = client.config;
  const refusal = { statusCode: 400, headers: {}, body: Buffer.from(JSON.stringify({ __type: type, message: 'no' })) };
  const handle = (...request: Parameters<typeof requestHandler.handle>) => {
    const { headers, body } = request[0] as { headers: Record<string, string>; body: string | Uint8Array };
    const target = headers['x-amz-target']?.split('.')[1] ?? '';
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
    return isRefused({ target, body: text }) ? { response: refusal } : requestHandler.handle(...request);
  };
  return new DynamoDBClient({
    endpoint: endpoint ?? '',
    region,
    credentials,
    requestHandler: { handle } as typeof requestHandler,
  });
}
