import { expect, test } from 'vitest';
import { Leasehold } from '../../../../shared/client/leasehold.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { systemRuntime as runtime } from '../../../../shared/core/runtime/runtime.ts';
import { hasOtherKeys, isMissingTable } from '../../../../shared/dynamo/engine/missing-table.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { memoryTable } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { SimulatedDynamo } from '../../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';

const named = (name: string, cause?: unknown) => Object.assign(new Error('no', { cause }), { name });
const coded = (code: string, cause?: unknown) => Object.assign(new Error('no', { cause }), { code });
const MISSING = 'ResourceNotFoundException';

test.each<[string, unknown, boolean]>([
  ["the SDK's error", named(MISSING), true],
  ["a driver's fault", coded(MISSING), true],
  ['an error that it caused', named('ConfigurationError', coded(MISSING)), true],
  ['an error whose cause it caused', new Error('a', { cause: new Error('b', { cause: named(MISSING) }) }), true],
  ['another error', named('ValidationException', coded('AccessDeniedException')), false],
  ['no error', MISSING, false],
  ['an error caused by none', new Error('a', { cause: { name: MISSING } }), false],
])('%s says that the table is missing, or not', (_what, thrown, isMissing) => {
  expect(isMissingTable(thrown)).toBe(isMissing);
});

const OURS = memoryTable('t');
const TABLES = {
  'the key id': { name: 't', partition: { name: 'id', type: 'S' } },
  'another partition key': { ...OURS, partition: { name: 'customer', type: 'S' } },
  'a number as its key': { ...OURS, partition: { name: 'pk', type: 'N' } },
  'no sort key': { name: 't', partition: OURS.partition },
  'no indexes': { ...OURS, indexes: [] },
} as const;
const FIRST: Readonly<Record<string, (leasehold: Leasehold) => Promise<unknown>>> = {
  enqueue: ({ tasks }) => tasks.enqueue('t', null, { id: 'a' }),
  batch: ({ tasks }) => tasks.enqueueBatch([{ task: 't', input: null, options: {} }], { id: 'b' }),
  get: ({ tasks }) => tasks.get('a'),
  session: (leasehold) => leasehold.session(),
  open: ({ operator }) => operator.open({ shards: 1 }).next(),
};

test.each([
  ['the key id', 'enqueue'],
  ['the key id', 'batch'],
  ['another partition key', 'enqueue'],
  ['another partition key', 'get'],
  ['another partition key', 'session'],
  ['a number as its key', 'enqueue'],
  ['no sort key', 'get'],
  ['no indexes', 'open'],
] as const)('a table with %s is named by the first request (%s)', async (table, first) => {
  const dynamo = new SimulatedDynamo({ now: Date.now });
  dynamo.createTable(TABLES[table]);
  const leasehold = new Leasehold(
    { sender: new Sender({ driver: simulatedDriver(dynamo), runtime }), gauge: noSkewGauge, runtime },
    { table: 't' },
  );

  await expect(FIRST[first]?.(leasehold)).rejects.toThrow(
    /table t has other keys or indexes than a table of Leasehold .*'leasehold doctor'/,
  );
});

test.each(['One of the required keys was not given a value', 'The number of conditions on the keys is invalid'])(
  'DynamoDB Local says of a table with other keys: %s',
  (message) => {
    expect(hasOtherKeys({ message })).toBe(true);
  },
);
