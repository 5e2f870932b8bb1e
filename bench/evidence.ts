/**
 * Evidence of one run of `npm run aws`: its schema, and the newest file of it in `docs/evidence`.
 *
 * A part is measured, failed, or unsupported where the platform does not do as AWS does. Times are milliseconds, each value kept.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';

const ms = z.array(z.number().min(0)).min(1);
const count = z.int().min(0);
const outcomes = z.strictObject({
  first: z.string(),
  /** Outcome of the same bytes, sent again. */
  again: z.string(),
  /** How often the write of the transaction is in the row. */
  effects: count,
});
/** The service's clock less this machine's, as 20 Date headers prove it. */
const clocks = z.strictObject({
  frozenSeconds: z.number().min(0),
  sameEnvironment: z.boolean(),
  /** Wall clock less monotonic clock, gained over the freeze. */
  wallAheadMs: z.number(),
  leastAheadMs: z.number(),
  mostAheadMs: z.number(),
});

export const PARTS = {
  tasks: z.strictObject({
    tasks: count,
    waves: z.array(z.strictObject({ tasks: count, seconds: z.number() })),
    killed: z.record(z.string(), count),
    once: count,
    twice: count,
    lost: count,
    attempts: z.record(z.string(), count),
  }),
  indexLag: z.strictObject({ ready: ms, directory: ms }),
  stream: z.strictObject({ toFirstLine: ms }),
  starts: z.strictObject({ cold: ms, warm: ms }),
  clocks: z.strictObject({ rounds: z.array(clocks).min(1) }),
  units: z.strictObject({
    verbs: z.array(
      z.strictObject({
        verb: z.string(),
        requests: count,
        writes: z.number(),
        writesByModel: z.number(),
        reads: z.number(),
        readsByModel: z.number(),
      }),
    ),
  }),
  signatures: z.strictObject({
    requests: count,
    unverified: count,
    otherFaults: count,
    /** Of requests with credentials of another role, after half of them with the function's own. */
    unverifiedAfterRotation: count,
    request: ms,
    dated: z.array(z.strictObject({ minutesBack: z.number(), outcome: z.string() })),
  }),
  copies: z.strictObject({ applied: outcomes, canceled: outcomes }),
  throttles: z.strictObject({
    verb: z.string(),
    perSecond: z.array(z.strictObject({ sent: count, throttled: count })),
    reasons: z.record(z.string(), count),
  }),
} as const;

export type PartName = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as readonly PartName[];

const why = z.string().min(1);
const partOf = <T extends z.ZodType>(measured: T) =>
  z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('measured'), measured }),
    z.strictObject({ status: z.literal('unsupported'), why }),
    z.strictObject({ status: z.literal('failed'), why }),
  ]);

export const EVIDENCE = z.strictObject({
  schema: z.literal(1),
  at: z.iso.datetime(),
  commit: z.string(),
  region: z.string(),
  platform: z.enum(['aws', 'emulator']),
  parts: z.strictObject({
    tasks: partOf(PARTS.tasks),
    indexLag: partOf(PARTS.indexLag),
    stream: partOf(PARTS.stream),
    starts: partOf(PARTS.starts),
    clocks: partOf(PARTS.clocks),
    units: partOf(PARTS.units),
    signatures: partOf(PARTS.signatures),
    copies: partOf(PARTS.copies),
    throttles: partOf(PARTS.throttles),
  }),
});

export type Evidence = z.infer<typeof EVIDENCE>;
export type Measured<Name extends PartName> = z.infer<(typeof PARTS)[Name]>;

export const EVIDENCE_FOLDER = path.resolve(import.meta.dirname, '../docs/evidence');

/** Returns the newest evidence from AWS, by the date in its name. @throws Error for a file that does not fit the schema */
export function newestEvidence(folder: string = EVIDENCE_FOLDER): Evidence | undefined {
  return globSync('*.json', { cwd: folder })
    .sort()
    .reverse()
    .map((file) => EVIDENCE.parse(JSON.parse(readFileSync(path.join(folder, file), 'utf8'))))
    .find(({ platform }) => platform === 'aws');
}
