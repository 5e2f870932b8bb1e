/** The Consul gateway as it is deployed: what its role may do, all of which it needs, and that its handler gets along with it. */
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';
import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { CONSUL_ENV } from '../lambda/env-names.ts';
import type { UrlEvent } from '../lambda/function-url.ts';
import { ConsulGateway, addConsul } from '../infra/consul-gateway.ts';
import { LeaseholdStack } from '../../infra/stack.ts';
import { CoordinationTable } from '../../infra/table.ts';
import { checkKey } from '../health/row/check-statements.ts';
import { lockKey, semaphoreKey, sessionKey, taskKey } from '../../shared/dynamo/engine/keys.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import type { PolicyGate } from '../../test/infra/policy-gate.ts';
import { openPolicyGate } from '../../test/infra/policy-gate.ts';
import { isAllowed, statementsOf } from '../../test/infra/policy.ts';
import { ENTRY, newApp } from '../../test/infra/synthesize.ts';

const endpoint = inject('embeddedEndpoint');
const stack = new Stack(newApp(), 'Theirs');
const table = new CoordinationTable(stack, 'Table');
const gateway = new ConsulGateway(stack, 'Consul', { table });
const caller = new Role(stack, 'Caller', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
gateway.grantInvoke(caller);
const template = Template.fromStack(stack);
const idOf = (resource: { readonly node: { readonly defaultChild?: unknown } }): string =>
  stack.getLogicalId(resource.node.defaultChild as Parameters<typeof stack.getLogicalId>[0]);
const tableId = idOf(table.table);
const statements = statementsOf(template, idOf(gateway.handler.role));

describe('the deployed Consul gateway', () => {
  test('is reached with IAM credentials alone', () => {
    template.hasResourceProperties('AWS::Lambda::Url', { AuthType: 'AWS_IAM' });
    template.resourcePropertiesCountIs('AWS::Lambda::Permission', Match.anyValue(), 0);
    expect(statementsOf(template, idOf(caller)).map(({ Action, Condition }) => [Action, Condition])).toEqual([
      ['lambda:InvokeFunctionUrl', { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } }],
      ['lambda:InvokeFunction', { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } }],
    ]);
  });

  test('passes the checks of cdk-nag in the example deployment, which names its URL', () => {
    const app = newApp();
    const workers = { entry: ENTRY, production: true };
    const deployment = new LeaseholdStack(app, 'Leasehold', { workers });
    addConsul(deployment, true);
    const template = Template.fromStack(deployment);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

    template.hasResourceProperties('AWS::Lambda::Url', { AuthType: 'AWS_IAM' });
    expect(Object.keys(template.findOutputs('ConsulUrl'))).toHaveLength(1);
    expect(() => app.synth()).not.toThrow();
  });

  test('waits no longer than its function may run', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 60,
      Environment: { Variables: Match.objectLike({ [CONSUL_ENV.maxWaitMs]: '50000' }) },
    });
  });

  test.each([
    ['a property that it does not have', { nodes: 'edge' }, /unknown option "nodes": .*did you mean node\?/],
    ['an empty node', { node: '' }, /^node is empty/],
    ['tokens that are no JSON', { tokens: '{ tokens: [] }' }, /^tokens is not JSON: pass/],
    ['no time for a blocking query', { timeout: Duration.seconds(10) }, /must be more than 10 seconds/],
    ['more time than Lambda gives', { timeout: Duration.minutes(16) }, /Lambda allows 900 seconds at most/],
  ])('is not made with %s: its function would serve no request', (_what, props, message) => {
    const elsewhere = new Stack(newApp(), 'Wrong');
    const there = new CoordinationTable(elsewhere, 'Table');

    expect(() => new ConsulGateway(elsewhere, 'Consul', { table: there, ...props })).toThrow(message);
  });

  test.each([
    ['session', sessionKey('018f').pk, ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem']],
    ['check', checkKey({ node: 'host', id: 'disk' }).pk, ['GetItem', 'BatchGetItem', 'UpdateItem']],
    ['lock', lockKey('a#b').pk, ['GetItem', 'BatchGetItem', 'UpdateItem', 'ConditionCheckItem']],
    ['semaphore', semaphoreKey('s').pk, []],
    ['task', taskKey('media', '1').pk, []],
  ])('may do with a %s what it needs', (_row, key, wanted) => {
    const all = [
      'GetItem',
      'BatchGetItem',
      'PutItem',
      'UpdateItem',
      'ConditionCheckItem',
      'DeleteItem',
      'Query',
      'Scan',
    ];

    const allowed = all.filter((action) =>
      isAllowed(statements, { action: `dynamodb:${action}`, resource: tableId, leadingKeys: [key] }),
    );

    expect(allowed).toEqual(wanted);
  });

  test('lists sessions, checks and locks, and nothing without naming keys', () => {
    const lists = (key: string) =>
      isAllowed(statements, {
        action: 'dynamodb:Query',
        resource: `${tableId}/index/directory`,
        leadingKeys: [key],
      });

    const keys = ['session#0', 'session#15', 'check', 'lock#7', 'semaphore', 'dead#media#0'];
    expect(keys.filter(lists)).toEqual(['session#0', 'session#15', 'check', 'lock#7']);
    expect(isAllowed(statements, { action: 'dynamodb:GetItem', resource: tableId })).toBe(false);
  });

  describe.skipIf(endpoint === null)('its handler', () => {
    let rows: CommandTable;
    let gate: PolicyGate;
    let call: (
      method: string,
      path: string,
      body?: string,
    ) => Promise<{ readonly status: number; readonly text: string }>;
    beforeAll(async () => {
      rows = await openCommandTable(endpoint ?? '');
      gate = await openPolicyGate({ upstream: endpoint ?? '', table: rows.table, logicalId: tableId, statements });
      vi.stubEnv(ENV.table, rows.table);
      vi.stubEnv(ENV.endpoint, gate.endpoint);
      vi.stubEnv(CONSUL_ENV.maxWaitMs, '1000');
      const { handler } = await import('../lambda/handler.ts');
      call = async (method, path, body) => {
        const answer = await handler(urlEvent(method, path, body));
        return { status: answer.statusCode, text: Buffer.from(answer.body, 'base64').toString('latin1') };
      };
    });
    afterAll(async () => {
      vi.unstubAllEnvs();
      await gate[Symbol.asyncDispose]();
      closeCommandTable(rows);
    });

    test('does everything with these rights, and carries bytes', async () => {
      const { text } = await call('PUT', '/v1/session/create', '{"TTL":"10s"}');
      const session = (JSON.parse(text) as { ID: string }).ID;
      const bytes = Buffer.from([0, 255, 7]).toString('latin1');
      const transaction = [
        { KV: { Verb: 'set', Key: 'b', Value: 'eA==' } },
        { KV: { Verb: 'check-session', Key: 'a', Session: session } },
        { KV: { Verb: 'check-not-exists', Key: 'c' } },
        { KV: { Verb: 'lock', Key: 'd', Session: session } },
      ];
      const statuses = [];
      for (const [method, path, body] of [
        ['PUT', `/v1/kv/a?acquire=${session}`, bytes],
        ['GET', '/v1/kv/a'],
        ['GET', '/v1/kv/?recurse'],
        ['PUT', '/v1/txn', JSON.stringify(transaction)],
        ['PUT', `/v1/session/renew/${session}`],
        ['GET', '/v1/session/list'],
        ['PUT', '/v1/catalog/register', '{"Node":"n","Address":"x"}'],
        ['PUT', '/v1/agent/check/register', '{"Name":"disk","TTL":"10s"}'],
        ['PUT', '/v1/agent/check/fail/disk'],
        ['PUT', '/v1/catalog/deregister', '{"Node":"n"}'],
        ['PUT', `/v1/kv/a?release=${session}`, bytes],
        ['GET', '/v1/kv/c?index=1'],
        ['GET', '/v1/kv/?recurse&index=1'],
        ['DELETE', '/v1/kv/d'],
        ['PUT', `/v1/session/destroy/${session}`],
      ] as const)
        statuses.push((await call(method, path, body)).status);

      expect(gate.refusals()).toEqual([]);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 404, 200, 200, 200]);
      expect((await call('GET', '/v1/kv/a?raw')).text).toBe(bytes);
    });

    test('logs what it could not serve, without the query', async () => {
      const logged = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      await rows.client.send(
        new PutItemCommand({
          TableName: rows.table,
          Item: { pk: { S: 'lock#damaged' }, sk: { S: 'lock' }, v: { N: '1' }, leaseCounter: { S: 'no number' } },
        }),
      );

      const { status } = await call('GET', '/v1/kv/damaged?token=secret');

      expect(status).toBe(500);
      expect(logged.mock.calls).toEqual([
        ['request failed', { method: 'GET', path: '/v1/kv/damaged', error: expect.any(Error) as unknown }],
      ]);
    });
  });
});

/** A request as a function URL hands it over. */
function urlEvent(method: string, url: string, body = ''): UrlEvent {
  const [rawPath = '', rawQueryString = ''] = url.split('?');
  return {
    rawPath,
    rawQueryString,
    headers: { host: 'example.lambda-url.eu-central-1.on.aws', 'content-length': String(body.length) },
    requestContext: { domainName: 'example.lambda-url.eu-central-1.on.aws', http: { method } },
    body: Buffer.from(body, 'latin1').toString('base64'),
    isBase64Encoded: true,
  };
}
