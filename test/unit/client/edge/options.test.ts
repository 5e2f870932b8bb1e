import { expect, test } from 'vitest';
import type { EdgeOptions } from '../../../../shared/client/edge/edge-connection.ts';
import { connect } from '../../../../shared/client/edge/edge-connection.ts';
import type { AddOptions } from '../../../../shared/client/edge/enqueuer.ts';
import { enqueuer } from '../../../../shared/client/edge/enqueuer.ts';
import { createLeasehold } from '../../../../shared/client/edge/edge-leasehold.ts';

const GIVEN: EdgeOptions = {
  table: 'leasehold',
  region: 'eu-west-1',
  credentials: { accessKeyId: 'a', secretAccessKey: 's' },
};

test.each([
  [{ region: undefined }, /^region = undefined: pass the region of the table/],
  [{ region: 'EU West' }, /^region = "EU West": pass the region of the table/],
  [{ credentials: undefined }, /^credentials: pass accessKeyId and secretAccessKey/],
  [{ credentials: { accessKeyId: 'a' } }, /^credentials: pass accessKeyId and secretAccessKey/],
  [{ credentials: { accessKeyId: '', secretAccessKey: 's' } }, /^credentials: pass accessKeyId and secretAccessKey/],
  [{ credentials: { accessKeyId: 'a', secretAccessKey: 's', sessionToken: 7 } }, /^credentials: sessionToken is not/],
  [{ credentials: { accessKeyId: 'a', secretAccessKey: 's', expiration: 'soon' } }, /^credentials: expiration is not/],
  [{ endpoint: 'nowhere' }, /^endpoint "nowhere" is not a URL/],
  [{ endpoint: 'http://db.example' }, /^endpoint http:\/\/db\.example is http: to another machine/],
  [{ endpoint: 'https://user:pw@db.example' }, /^endpoint https:\/\/…@db\.example holds a user or a password/],
  [{ maxInFlight: 0 }, /^maxInFlight = 0: must be a whole number/],
  [{ maxRequests: 1.5 }, /^maxRequests = 1.5: must be a whole number/],
  [{ shards: 0 }, /^shards = 0/],
  [{ driver: 'wire' }, /driver/],
])('leasehold/edge refuses %o', (wrong, message) => {
  expect(() => createLeasehold({ ...GIVEN, ...wrong } as EdgeOptions)).toThrow(message);
});

test.each([
  ['eu-west-1', 'https://dynamodb.eu-west-1.amazonaws.com/'],
  ...['cn-north-1', 'cn-northwest-1'].map((china) => [china, `https://dynamodb.${china}.amazonaws.com.cn/`]),
])('leasehold/edge sends to the DynamoDB of %s', async (region, address) => {
  const asked: string[] = [];
  const leasehold = createLeasehold({
    ...GIVEN,
    region,
    fetch: (url) => {
      asked.push((url as URL).href);
      return Promise.resolve(new Response('{}'));
    },
  });
  await leasehold.tasks.get('id');

  expect(asked).toEqual([address]);
});

test.each([
  ['ordered', { key: 'k', ordered: true }],
  ['onDuplicate', { id: 'a', onDuplicate: 'replace' }],
  ['window', { id: 'a', window: '1d' }],
])('an enqueuer refuses %s, for which it has no code, and sends nothing', async (option, options) => {
  const never = (): never => {
    throw new Error('something was sent');
  };
  const small = enqueuer(connect({ ...GIVEN, fetch: never }));

  await expect(small.enqueue('task', {}, options as AddOptions)).rejects.toThrow(
    `${option} is not supported by enqueuer: use createLeasehold(…).tasks`,
  );
});

const TOKEN = 'TOKEN-THAT-IS-SECRET';
test.each([
  [
    'a line break in a token',
    { accessKeyId: 'a', secretAccessKey: 's', sessionToken: `two\n${TOKEN}` },
    /x-amz-security-token/,
  ],
  ['a line break after a key', { accessKeyId: `${TOKEN}\n`, secretAccessKey: 's' }, /authorization/],
  [
    'a character above 255',
    { accessKeyId: 'a', secretAccessKey: 's', sessionToken: `${TOKEN}\u2028` },
    /x-amz-security-token/,
  ],
  ['a provider without credentials', () => undefined, /^credentials: pass accessKeyId/],
  ['a provider with an empty secret', () => ({ accessKeyId: TOKEN, secretAccessKey: '' }), /^credentials: pass/],
])('leasehold/edge sends nothing with %s, and quotes none of it', async (_what, credentials, message) => {
  let sent = 0;
  const leasehold = createLeasehold({
    ...GIVEN,
    credentials: credentials as EdgeOptions['credentials'],
    fetch: () => {
      sent++;
      return Promise.resolve(new Response('{}'));
    },
  });

  const error = await leasehold.tasks.enqueue('t', null).then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );

  expect(error).toMatchObject({ name: 'ConfigurationError', message: expect.stringMatching(message) as string });
  expect(String(error?.message) + String(error?.cause)).not.toContain(TOKEN);
  expect(sent).toBe(0);
});
