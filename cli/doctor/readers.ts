/** Checks that the waker reads the table's latest stream. A stream that was disabled and enabled again has a new ARN. */
import type { TableDescription } from '@aws-sdk/client-dynamodb';
import type { Finding } from './finding.ts';
import { broken, ok, unknown, warning } from './finding.ts';
import type { LambdaCaller, Mapping } from './mappings.ts';
import { listMappings } from './mappings.ts';

const CHECK = 'stream readers';

/** @param table with its stream switched on. @throws Error if Lambda refuses or does not answer */
export async function judgeReaders(table: TableDescription, lambda: LambdaCaller): Promise<Finding> {
  const latest = table.LatestStreamArn ?? '';
  const readers = await listMappings(lambda, { EventSourceArn: latest });
  const running = readers.filter(isRunning);
  const failing = running.filter(({ LastProcessingResult = '' }) => LastProcessingResult.startsWith('PROBLEM'));
  if (failing.length > 0) return judgeFailing(failing);
  if (running.length > 0) return ok(CHECK, `${namesOf(running)} ${running.length === 1 ? 'reads' : 'read'} the latest`);
  if (readers.length > 0) return judgeDisabled(readers);
  // Mappings of an earlier stream cannot be listed without its ARN.
  const earlier = (await listMappings(lambda, {})).filter(isOf(table));
  if (earlier.length > 0) return judgeStale(earlier, latest);
  return unknown(
    CHECK,
    'no function reads it: that is right without workers on Lambda, with wakeOnEnqueue: false, and before a stack names the table; ' +
      'otherwise deploy the stack again',
  );
}

function judgeFailing(mappings: readonly Mapping[]): Finding {
  const [{ LastProcessingResult = '' } = { LastProcessingResult: '' }] = mappings;
  return warning(
    CHECK,
    `${namesOf(mappings)} reads the latest, and Lambda reports ${LastProcessingResult}`,
    "look at the function's log and its right to read the stream",
  );
}

function judgeDisabled(mappings: readonly Mapping[]): Finding {
  return broken(
    CHECK,
    `the mapping of ${namesOf(mappings)} is ${mappings[0]?.State ?? 'in an unknown state'}: tasks wait for the next tick`,
    mappings.map(({ UUID }) => `aws lambda update-event-source-mapping --uuid ${UUID} --enabled`).join('; '),
  );
}

function judgeStale(mappings: readonly Mapping[], latest: string): Finding {
  return broken(
    CHECK,
    `${namesOf(mappings)} reads ${mappings[0]?.EventSourceArn ?? ''}, and the latest is ${latest}: tasks wait for the next tick`,
    "deploy the stack with wakeOnEnqueue: false, then as before, so that the mapping and the function's right name the latest stream",
  );
}

function isRunning({ State = '' }: Mapping): boolean {
  return ['Enabled', 'Enabling', 'Creating', 'Updating'].includes(State);
}

function isOf({ TableArn = '' }: TableDescription): (mapping: Mapping) => boolean {
  return ({ EventSourceArn = '' }) => EventSourceArn.startsWith(`${TableArn}/stream/`);
}

function namesOf(mappings: readonly Mapping[]): string {
  return mappings.map(({ FunctionArn = '' }) => FunctionArn.replace(/^.*:function:/, '')).join(', ');
}
