/** Signatures, copies of transactions, and a throttled index partition. */
import { setTimeout as wait } from 'node:timers/promises';
import { ENV } from '../../functions/env.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { DIRECTORY_INDEX } from '../../shared/dynamo/engine/schema.ts';
import type { Measured } from '../../bench/evidence.ts';
import { assumeRole } from './account.ts';
import { noKey } from './probe-latency.ts';
import { RawDynamo } from './raw-dynamo.ts';
import { ROTATED_VARIABLE, variable } from './settings.ts';

const MINUTES_BACK = [4, 6, 14, 16];
/** The time of one request in N is kept. */
const KEPT_EACH = 100;
const never = new AbortController().signal;

export async function signatures(sizes: {
  readonly requests: number;
  readonly inFlight: number;
  readonly rotates: boolean;
}): Promise<Measured<'signatures'>> {
  const TableName = variable(ENV.table);
  const { driver } = connectDynamo({}, systemRuntime);
  const atOnce = sideBySide(sizes.inFlight);
  const request: number[] = [];
  let [unverified, otherFaults] = [0, 0];
  const one = async (n: number): Promise<void> => {
    const begun = performance.now();
    await driver
      .attempt('get', { TableName, Key: { pk: 'evidence#get', sk: 'evidence' } }, never)
      .catch((error: unknown) => {
        if (error instanceof DynamoFault && error.kind === 'unverified') unverified++;
        else otherFaults++;
      });
    if (n % KEPT_EACH === 0) request.push(performance.now() - begun);
  };
  await Promise.all(Array.from({ length: sizes.requests }, (_, n) => atOnce(() => one(n))));
  const raw = await RawDynamo.open();
  const dated: { minutesBack: number; outcome: string }[] = [];
  for (const minutesBack of MINUTES_BACK) {
    const send = await raw.sign('GetItem', { TableName, Key: noKey('dated') }, Date.now() - minutesBack * 60_000);
    dated.push({ minutesBack, outcome: (await send()).outcome });
  }
  const unverifiedAfterRotation = sizes.rotates ? await rotatedFaults(raw, TableName) : 0;
  return { requests: sizes.requests, unverified, otherFaults, unverifiedAfterRotation, request, dated };
}

/** Requests with the credentials of another role, in turn with the function's own. */
async function rotatedFaults(raw: RawDynamo, TableName: string): Promise<number> {
  const rotated = raw.with(await assumeRole(raw.target, variable(ROTATED_VARIABLE)));
  let faults = 0;
  for (let n = 0; n < 20; n++) {
    const { outcome } = await (n % 2 === 0 ? raw : rotated).send('GetItem', { TableName, Key: noKey('rotated') });
    if (outcome !== 'ok') faults++;
  }
  return faults;
}

/** Sends the same bytes twice: an applied transaction, and a canceled one whose condition has come true since. */
export async function copies(_: object): Promise<Measured<'copies'>> {
  const raw = await RawDynamo.open();
  const TableName = variable(ENV.table);
  const run = async (name: string, gate: string | undefined): Promise<Measured<'copies'>['applied']> => {
    const count = {
      Update: {
        TableName,
        Key: noKey(name),
        UpdateExpression: 'ADD #n :one',
        ExpressionAttributeNames: { '#n': 'n' },
        ExpressionAttributeValues: { ':one': { N: '1' } },
      },
    };
    const check =
      gate === undefined
        ? []
        : [{ ConditionCheck: { TableName, Key: noKey(gate), ConditionExpression: 'attribute_exists(pk)' } }];
    const send = await raw.sign('TransactWriteItems', {
      ClientRequestToken: systemIds.unique(),
      TransactItems: [count, ...check],
    });
    const first = (await send()).outcome;
    if (gate !== undefined) await raw.send('PutItem', { TableName, Item: noKey(gate) });
    const again = (await send()).outcome;
    const { body } = await raw.send('GetItem', { TableName, Key: noKey(name), ConsistentRead: true });
    const row = body.Item as { readonly n?: { readonly N: string } } | undefined;
    return { first, again, effects: Number(row?.n?.N ?? 0) };
  };
  const id = systemIds.unique();
  return { applied: await run(`applied-${id}`, undefined), canceled: await run(`canceled-${id}`, `gate-${id}`) };
}

/** New rows on one partition of the directory index, at a rate above what it takes. */
export async function throttles(sizes: {
  readonly perSecond: number;
  readonly seconds: number;
}): Promise<Measured<'throttles'>> {
  const raw = await RawDynamo.open();
  const run = systemIds.unique();
  const perSecond: { sent: number; throttled: number }[] = [];
  const reasons: Record<string, number> = {};
  const put = async (n: number, second: { sent: number; throttled: number }): Promise<void> => {
    const entry = {
      [DIRECTORY_INDEX.partitionKey]: { S: `evidence-hot-${run}` },
      [DIRECTORY_INDEX.sortKey]: { S: String(n) },
    };
    second.sent++;
    const Item = { ...noKey(`${run}-${n}`), ...entry };
    const answer = await raw.send('PutItem', { TableName: variable(ENV.table), Item });
    if (!/Throttl|ProvisionedThroughputExceeded/.test(answer.outcome)) return;
    second.throttled++;
    for (const reason of reasonsOf(answer.body, answer.outcome)) reasons[reason] = (reasons[reason] ?? 0) + 1;
  };
  const all: Promise<void>[] = [];
  for (let second = 0; second < sizes.seconds; second++) {
    const tally = { sent: 0, throttled: 0 };
    perSecond.push(tally);
    // In tenths of a second, to keep bursts below the rate.
    for (let tenth = 0; tenth < 10; tenth++) {
      for (let n = 0; n < sizes.perSecond / 10; n++) all.push(put(all.length, tally));
      await wait(100);
    }
  }
  await Promise.all(all);
  return { verb: 'PutItem', perSecond, reasons };
}

function reasonsOf(body: Readonly<Record<string, unknown>>, outcome: string): readonly string[] {
  const listed = body.ThrottlingReasons ?? body.throttlingReasons;
  if (!Array.isArray(listed) || listed.length === 0) return [outcome];
  return listed.map((one: { readonly reason?: string }) => one.reason ?? outcome);
}
