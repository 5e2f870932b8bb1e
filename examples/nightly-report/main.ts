/**
 * A nightly report that two machines start, as their crontabs say, and that is written once.
 *
 *   node examples/nightly-report/main.ts
 *
 * The first night both go on to their end: one leads and writes, the other leads after it and finds it written.
 * The second night the leader is killed while it writes: the other is elected when the session has expired, and writes.
 * At the end the claims are checked, and the exit code says whether they hold.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { check, endingWith } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { localSettings, openLeasehold } from '../store.ts';
import { TABLE } from '../table.ts';

const options = await exampleOptions({
  /** How long a killed leader is believed to lead. */
  expiry: '3s',
});

const settings = await localSettings(options.endpoint);
using _table = await openLeasehold(options.endpoint);
const documents = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    endpoint: settings.AWS_ENDPOINT_URL_DYNAMODB,
    region: settings.AWS_REGION,
    credentials: { accessKeyId: settings.AWS_ACCESS_KEY_ID, secretAccessKey: settings.AWS_SECRET_ACCESS_KEY },
  }),
);
const election = `nightly-report-${process.pid}-${Date.now()}`;

const processes: ChildProcess[] = [];
using _processes = endingWith(processes);

const quiet = startTwice('night 1');
await Promise.all(quiet.map(({ ended }) => ended));
check((await timesWritten('night 1')) === 1, 'started twice, the report of night 1 was written once');
check(quiet.filter(({ said }) => said.some((line) => line.includes('finds'))).length === 1, 'the other one found it');

const eventful = startTwice('night 2');
const leader = await Promise.race(eventful.map(({ isWriting, child }) => isWriting.then(() => child)));
leader.kill('SIGKILL');
say('the leader is killed while it writes');
await Promise.all(eventful.map(({ ended }) => ended));
check((await timesWritten('night 2')) === 1, 'its leader killed, the report of night 2 was written once all the same');

interface Reporter {
  readonly child: ChildProcess;
  readonly said: readonly string[];
  readonly isWriting: Promise<unknown>;
  readonly ended: Promise<unknown>;
}

function startTwice(night: string): readonly Reporter[] {
  return ['ann', 'bob'].map((name) => {
    const file = fileURLToPath(new URL('reporter.ts', import.meta.url));
    const child = spawn(process.execPath, [file, name, election, night, options.expiry], {
      env: { PATH: '', ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    processes.push(child);
    const said: string[] = [];
    const isWriting = Promise.withResolvers<undefined>();
    createInterface(child.stdout).on('line', (line) => {
      said.push(line);
      say(line);
      if (line.includes('writes the report')) isWriting.resolve(undefined);
    });
    return { child, said, isWriting: isWriting.promise, ended: once(child, 'close') };
  });
}

async function timesWritten(night: string): Promise<unknown> {
  const Key = { pk: `report#${election}`, sk: night };
  const { Item } = await documents.send(new GetCommand({ TableName: TABLE, Key, ConsistentRead: true }));
  return Item?.written;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
