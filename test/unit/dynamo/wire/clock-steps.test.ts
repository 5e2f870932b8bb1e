/** The signatures of a machine whose wall clock is wrong, and steps at any moment. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { systemClock } from '../../../../shared/core/runtime/clock.ts';
import { DRIVERS } from '../../../support/drivers.ts';
import type { Behaviour, FaultServer } from '../../../support/fault-server.ts';
import { answer, serviceError, startFaultServer } from '../../../support/fault-server.ts';

const GET = { TableName: 'table', Key: { pk: 'a' } };
/** Beyond this DynamoDB refuses a signature. */
const ALLOWED_MS = 5 * 60_000;
const REFUSALS = ['RequestTimeTooSkewed', 'RequestExpired', 'InvalidSignatureException'];

let server: FaultServer;
beforeAll(async () => {
  server = await startFaultServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Judges the date of a signature as the service does. */
const service =
  (code: string): Behaviour =>
  (socket, request) => {
    const signed = request.header('x-amz-date') ?? '';
    const at = Date.parse(signed.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    const date = new Date();
    const isInTime = Math.abs(at - date.getTime()) <= ALLOWED_MS;
    const refused = serviceError(code, { message: `Signature expired: ${signed}`, date });
    (isInTime ? answer({ headers: { date: date.toUTCString() } }) : refused)(socket, request);
  };

const step = fc.constantFrom(0, 0, 60_000, -60_000, 3_600_000, -3_600_000, 86_400_000, -86_400_000, 7 * 60_000);

// The SDK's client corrects its own signatures.
test.each(DRIVERS.filter(([name]) => name !== 'client'))(
  'the %s driver is accepted at the latest after one refusal, whatever its clock does',
  async (_name, open) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 5 }),
        fc.constantFrom(...REFUSALS),
        async (steps, code) => {
          server.behave(service(code));
          let errorMs = 0;
          const clock: Clock = { ...systemClock, now: () => systemClock.now() + errorMs };
          using driver = open({ endpoint: server.endpoint, clock });
          const isAccepted = async (): Promise<boolean> => {
            try {
              await driver.attempt('get', GET, AbortSignal.timeout(20_000));
              return true;
            } catch (error) {
              expect(error).toMatchObject({ kind: 'unverified' });
              return false;
            }
          };
          for (errorMs of steps) expect((await isAccepted()) || (await isAccepted())).toBe(true);
        },
      ),
      { seed: 1, numRuns: 12 },
    );
  },
);
