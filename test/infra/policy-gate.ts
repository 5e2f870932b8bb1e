/**
 * A DynamoDB endpoint that lets through requests that a principal's policies allow, and refuses all others like IAM.
 * It evaluates requests by the synthesized template, and forwards allowed ones to a real engine.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DIRECTORY_INDEX, READY_INDEX, TABLE } from '../../shared/dynamo/engine/schema.ts';
import type { Request, Statement } from './policy.ts';
import { isAllowed } from './policy.ts';

export interface PolicyGate extends AsyncDisposable {
  readonly endpoint: string;
  /** Describes the refusals, each once. */
  refusals(): string[];
  /** Names of the functions that were invoked. */
  readonly invoked: readonly string[];
  /** Takes away what the policies allow. */
  denies: (request: Request) => boolean;
}

interface GateOptions {
  /** The engine behind it. */
  readonly upstream: string;
  /** The table's name, and its logical id in the template. */
  readonly table: string;
  readonly logicalId: string;
  readonly statements: readonly Statement[];
}

interface Body {
  readonly TableName?: string;
  readonly IndexName?: string;
  readonly Key?: Attributes;
  readonly Item?: Attributes;
  readonly KeyConditionExpression?: string;
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Attributes;
  readonly RequestItems?: Readonly<Record<string, { readonly Keys?: readonly Attributes[] } | readonly BatchWrite[]>>;
  readonly ReturnValues?: string;
  /** PartiQL names its table in here. */
  readonly Statement?: string;
  readonly TransactItems?: readonly Readonly<Record<string, Body>>[];
}

interface BatchWrite {
  readonly PutRequest?: { readonly Item: Attributes };
  readonly DeleteRequest?: { readonly Key: Attributes };
}

type Attributes = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A transaction is authorised by what it consists of. */
const ACTION_OF_MEMBER: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
  Get: 'GetItem',
};

export async function openPolicyGate(options: GateOptions): Promise<PolicyGate> {
  const refused = new Set<string>();
  const invoked: string[] = [];
  const judge = (requests: readonly Request[]): Request | undefined =>
    requests.find((request) => !isAllowed(options.statements, request) || gate.denies(request));

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
    const invokedFunction = /^\/2015-03-31\/functions\/([^/]+)\/invocations/.exec(incoming.url ?? '')?.[1];
    const requests =
      invokedFunction === undefined
        ? requestsOf(String(incoming.headers['x-amz-target']), JSON.parse(body.toString()) as Body, options)
        : [{ action: 'lambda:InvokeFunction', resource: invokedFunction }];
    const denied = judge(requests);
    if (denied !== undefined) {
      const keys = denied.leadingKeys?.join(', ') ?? 'no keys';
      refused.add(`${denied.action} on ${denied.resource.replace(options.logicalId, 'the table')} for ${keys}`);
      outgoing.writeHead(400, {
        'content-type': 'application/x-amz-json-1.0',
        'x-amzn-errortype': 'AccessDeniedException',
      });
      outgoing.end(
        JSON.stringify({ __type: 'com.amazonaws.dynamodb#AccessDeniedException', message: 'not authorized' }),
      );
    } else if (invokedFunction !== undefined) {
      invoked.push(invokedFunction);
      outgoing.writeHead(202).end();
    } else {
      await forward(options.upstream, incoming, body, outgoing);
    }
  };

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(500).end(String(error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const gate: PolicyGate = {
    denies: () => false,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusals: () => [...refused].sort(),
    invoked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return gate;
}

/** Returns IAM's view of a request; an empty list for requests to foreign tables. */
function requestsOf(target: string, body: Body, options: GateOptions): Request[] {
  const operation = target.split('.')[1] ?? '';
  if (body.TransactItems !== undefined)
    return body.TransactItems.flatMap((member) =>
      Object.entries(member).flatMap(([kind, part]) => requestOf(ACTION_OF_MEMBER[kind] ?? kind, part, options)),
    );
  if (body.RequestItems !== undefined)
    return Object.entries(body.RequestItems).flatMap(([TableName, asked]) =>
      TableName === options.table
        ? [
            {
              ...requestTo(operation, '', options),
              leadingKeys: keysOf(asked).map((key) => text(key[TABLE.partitionKey])),
            },
          ]
        : [],
    );
  // Its action has the statement's first word (`PartiQLSelect`). The keys are not evaluated here: our policies never allow PartiQL.
  if (body.Statement !== undefined) return [requestTo(`PartiQL:${body.Statement.slice(0, 6)}`, '', options)];
  return requestOf(operation, body, options);
}

function keysOf(asked: { readonly Keys?: readonly Attributes[] } | readonly BatchWrite[]): readonly Attributes[] {
  if (!('length' in asked)) return asked.Keys ?? [];
  return asked.map(({ PutRequest, DeleteRequest }) => PutRequest?.Item ?? DeleteRequest?.Key ?? {});
}

function requestOf(operation: string, body: Body, options: GateOptions): Request[] {
  if (body.TableName !== options.table) return [];
  const path = body.IndexName === undefined ? '' : `/index/${body.IndexName}`;
  const leadingKeys = leadingKeysOf(body);
  const attributes = attributesOf(body);
  const keys = leadingKeys.length === 0 ? {} : { leadingKeys };
  return [{ ...requestTo(operation, path, options), ...keys, attributes, returnValues: body.ReturnValues }];
}

function requestTo(operation: string, path: string, { logicalId }: GateOptions): Request {
  return { action: `dynamodb:${operation}`, resource: `${logicalId}${path}` };
}

/** Returns all top-level names that the request mentions; our expressions name each by a placeholder, and keys within maps after a dot. */
function attributesOf(body: Body): string[] {
  const { Key = {}, Item = {}, ExpressionAttributeNames: names = {} } = body;
  const expressions = [body.ConditionExpression, body.UpdateExpression, body.KeyConditionExpression].join(' ');
  const used = Array.from(
    expressions.matchAll(/(?<![.\w])#\w+/g),
    ([placeholder]) => names[placeholder] ?? placeholder,
  );
  return [...new Set([...Object.keys(Key), ...Object.keys(Item), ...used])];
}

function leadingKeysOf(body: Body): string[] {
  const index = [READY_INDEX, DIRECTORY_INDEX].find(({ name }) => name === body.IndexName);
  const { partitionKey } = index ?? TABLE;
  const holder = body.Key ?? body.Item;
  if (holder !== undefined) return [text(holder[partitionKey])];
  const equalities = (body.KeyConditionExpression ?? '').matchAll(/([#\w]+)\s*=\s*(:\w+)/g);
  return Array.from(equalities).flatMap(([, name = '', value = '']) =>
    (body.ExpressionAttributeNames?.[name] ?? name) === partitionKey
      ? [text(body.ExpressionAttributeValues?.[value])]
      : [],
  );
}

function text(attribute: Readonly<Record<string, unknown>> | undefined): string {
  return String(attribute?.S);
}

async function forward(
  upstream: string,
  incoming: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<void> {
  const signed = Object.entries(incoming.headers).filter(
    ([name]) => name === 'authorization' || name.startsWith('x-amz-'),
  );
  const response = await fetch(upstream, {
    method: 'POST',
    headers: {
      ...Object.fromEntries(signed.map(([name, value]) => [name, String(value)])),
      'content-type': 'application/x-amz-json-1.0',
    },
    body: new Uint8Array(body),
  });
  const headers = {
    'content-type': response.headers.get('content-type') ?? '',
    date: response.headers.get('date') ?? '',
  };
  outgoing.writeHead(response.status, headers);
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}
