/** A page of another origin, in a real browser, tries to use the engine of a developer's machine. */
import { createServer } from 'node:http';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { findChromium, launchBrowser } from '../support/browser.ts';
import { startEngine } from '../../local/engine.ts';
import { listenOnLoopback } from '../../local/engine/listen.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { createLeasehold } from '../../api/index.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';

const chromium = findChromium();
const kinds = [
  ...(inject('embeddedEndpoint') === null ? [] : (['embedded'] as const)),
  'memory' as const,
  ...(inject('dynamodbLocalEndpoint') === null ? [] : (['dynamodb-local'] as const)),
];

/** The page script's report on each request that it tried. */
type Tried = Readonly<Record<string, string>>;

/** As an attacker would write it: any signature, the names that are everyone's defaults, and each way to ask that a page has. */
const ATTACK = (endpoint: string): string => `<!doctype html><script>
const target = ${JSON.stringify(endpoint)};
const headers = {
  'content-type': 'application/x-amz-json-1.0',
  'x-amz-date': '20260101T000000Z',
  authorization: 'AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
};
const call = (operation, body, mode = 'cors') =>
  fetch(target, { method: 'POST', mode, headers: { ...headers, 'x-amz-target': 'DynamoDB_20120810.' + operation }, body: JSON.stringify(body) })
    .then((response) => response.text(), (error) => 'blocked: ' + error.message);
const item = { pk: { S: 'task#default#stolen' }, sk: { S: 'task' } };
window.attack = (async () => ({
  list: await call('ListTables', {}),
  put: await call('PutItem', { TableName: 'leasehold', Item: item }),
  simple: await call('PutItem', { TableName: 'leasehold', Item: item }, 'no-cors'),
  read: await call('GetItem', { TableName: 'leasehold', Key: { pk: { S: 'task#default#mine' }, sk: { S: 'task' } } }),
}))();
</script>`;

describe.skipIf(chromium === undefined)('a web page on the machine of a developer', () => {
  test.each(kinds)(
    'neither reads nor writes a table of the engine %s, under its own name or a rebound one',
    async (kind) => {
      const engine = await startEngine({ kind });
      onTestFinished(() => engine.stop());
      const connection = connectDynamo({ endpoint: engine.endpoint }, systemRuntime);
      await createTable(await connection.openClient(), 'leasehold');
      connection.close();
      using leasehold = createLeasehold({ table: 'leasehold', endpoint: engine.endpoint });
      await leasehold.tasks.enqueue('greet', { secret: 'of mine' }, { id: 'mine' });
      const { port } = new URL(engine.endpoint);

      for (const target of [engine.endpoint, `http://evil.example:${port}`]) {
        const tried = await attackFrom(target);

        expect(Object.keys(tried)).toEqual(['list', 'put', 'simple', 'read']);
        for (const [what, answer] of Object.entries(tried)) {
          expect(answer, what).not.toMatch(/TableNames|of mine/);
          expect(answer, what).toMatch(/^$|^blocked: |AccessDeniedException/);
        }
      }
      expect(await leasehold.tasks.get('stolen')).toBeUndefined();
    },
  );
});

/** The name evil.example leads to this machine: for another port that is a page of another site, and for the same one it is rebinding. */
async function attackFrom(target: string): Promise<Tried> {
  const page = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end(ATTACK(target));
  });
  const port = await listenOnLoopback(page);
  const browser = await launchBrowser(chromium ?? '', ['--host-resolver-rules=MAP evil.example 127.0.0.1']);
  try {
    const opened = await browser.newPage();
    await opened.goto(`http://evil.example:${port}/`);
    return await opened.evaluate<Tried>('window.attack');
  } finally {
    await browser.close();
    page.close();
  }
}
