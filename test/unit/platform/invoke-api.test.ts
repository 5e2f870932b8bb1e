/** Lambda's Invoke API over HTTP: what each request is taken for, and how each answer and refusal is sent. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceStopped, tooManyRequests } from '../../../examples/platform/lambda/faults.ts';
import type { InvokeRequest, InvokeResponse } from '../../../examples/platform/lambda/invoke-api.ts';
import { createInvokeServer } from '../../../examples/platform/lambda/invoke-api.ts';

interface Sent {
  readonly method?: string;
  readonly type?: string;
  readonly body?: string;
}

const MB = 1024 * 1024;
let asked: InvokeRequest[] = [];
const answers: Readonly<Record<string, () => InvokeResponse>> = {
  fine: () => ({ status: 200, requestId: 'id', payload: '"fine"' }),
  failing: () => ({ status: 200, requestId: 'id', payload: '{}', functionError: 'Unhandled' }),
  accepting: () => ({ status: 202, requestId: 'id' }),
  dry: () => ({ status: 204, requestId: 'id' }),
  full: () => {
    throw tooManyRequests();
  },
  stopping: () => {
    throw serviceStopped();
  },
};
const server = createInvokeServer((one) => {
  asked.push(one);
  return Promise.resolve().then(() => (answers[one.reference.name] ?? answers.fine)!());
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

async function exchange(path: string, { method = 'POST', type, body = '' }: Sent = {}): Promise<string> {
  asked = [];
  const { port } = server.address() as AddressInfo;
  const headers = type === undefined ? {} : { 'x-amz-invocation-type': type };
  const sent = request({ host: '127.0.0.1', port, path, method, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const said = await text(answer);
  const wanted = ['x-amzn-requestid', 'content-type', 'x-amz-function-error', 'x-amzn-errortype', 'retry-after'];
  const told = wanted.flatMap((name) => answer.headers[name] ?? []);
  const taken = asked.map(({ reference: { name, qualifier }, type: how, payload }) => {
    const short = payload.length > 40 ? `${payload.length} characters` : payload;
    return `${how} of ${name}${qualifier === undefined ? '' : ` as ${qualifier}`} with ${short}`;
  });
  return [taken.join() || 'nothing is invoked', `${answer.statusCode} ${told.join(', ')} ${said}`].join('\n  → ');
}

const of = (name: string, query = ''): string =>
  `/2015-03-31/functions/${encodeURIComponent(name)}/invocations${query}`;
const ARN = 'arn:aws:lambda:eu-west-1:123456789012:function:fine';
const textOf = (characters: number): string => `"${'x'.repeat(characters - 2)}"`;

const REQUESTS: readonly (readonly [what: string, path: string, sent?: Sent])[] = [
  ['a name', of('fine'), { body: '{"n":1}' }],
  ['nothing', of('fine')],
  ['an alias', of('fine:live'), { type: 'RequestResponse' }],
  ['an alias in the query, which wins', of('fine:live', '?Qualifier=next')],
  ['an ARN', of(ARN)],
  ['an ARN with a version', of(`${ARN}:$LATEST`)],
  ['an ARN of another partition', of(ARN.replace('arn:aws:', 'arn:aws-cn:'))],
  ['an account and a name', of('123456789012:function:fine:7')],
  ['an account that is too short', of('12345678901:function:fine')],
  ['a name that is none', of('no name')],
  ['a name that cannot be decoded', '/2015-03-31/functions/%E0%A4%A/invocations'],
  ['a path that is none', '//'],
  ['another operation', '/2015-03-31/functions/fine', { method: 'GET' }],
  ['another method', of('fine'), { method: 'GET' }],
  ['a part behind it', `${of('fine')}/more`],
  ['a function that fails', of('failing')],
  ['an event', of('accepting'), { type: 'Event', body: '[]' }],
  ['a dry run', of('dry'), { type: 'DryRun' }],
  ['a type that is none', of('fine'), { type: 'Later' }],
  ['a full function', of('full')],
  ['a platform that stops', of('stopping')],
  ['a text that is no JSON', of('fine'), { body: '{' }],
  ['the longest event', of('accepting'), { type: 'Event', body: textOf(MB) }],
  ['an event that is too long', of('accepting'), { type: 'Event', body: textOf(MB + 1) }],
  ['the longest call', of('fine'), { body: textOf(6 * MB) }],
  ['a call that is too long', of('fine'), { body: textOf(6 * MB + 1) }],
];

test('each request is taken for one invocation, or refused as Lambda refuses it', async () => {
  const told: string[] = [];
  for (const [what, path, sent] of REQUESTS) told.push(`${what}: ${await exchange(path, sent)}`);

  await expect(told.join('\n').replaceAll(/(read|into json): .*?(?=")/g, '$1: …')).toMatchFileSnapshot(
    './invoke-api.golden.txt',
  );
});
