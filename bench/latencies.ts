/** The latencies of AWS that the fleet in virtual time assumes: measured by the newest evidence, or else modelled. */
import type { Evidence } from './evidence.ts';
import { newestEvidence } from './evidence.ts';
import { percentile } from './figures.ts';

/** A time whose logarithm is normal, by two of its percentiles. */
export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface Latencies {
  /** From a write to the waker's invocation. */
  readonly streamMs: Spread;
  /** From the call of an asynchronous invocation to the first line of a warm function. */
  readonly invokeMs: Spread;
  readonly coldStartMs: number;
  /** One request to DynamoDB, there and back. */
  readonly dynamoMs: number;
  /** Indexes show a write after anything up to this. */
  readonly indexLagMs: number;
}

/** Third-party measurements of 2022 (stream, invocation), and round figures for the others. */
export const MODELLED: Latencies = {
  streamMs: { p50: 213, p99: 552 },
  invokeMs: { p50: 75, p99: 225 },
  coldStartMs: 400,
  dynamoMs: 5,
  indexLagMs: 1_000,
};

const evidence = newestEvidence();
const measured = evidence === undefined ? {} : measuredLatencies(evidence);

/** For benches. Tests take `MODELLED`, so that new evidence does not change their verdict. */
export const LATENCIES: Latencies = { ...MODELLED, ...measured };

/** Says which latencies are modelled, where the others were measured, and what they are. */
export function describeLatencies({ streamMs, invokeMs, coldStartMs, dynamoMs, indexLagMs }: Latencies): string {
  const modelled = Object.keys(MODELLED).filter((name) => !(name in measured));
  const from = evidence === undefined ? '' : `Measured in ${evidence.region} at ${evidence.at}. `;
  return (
    `${from}${modelled.length === 0 ? '' : `Modelled, not measured: ${modelled.join(', ')}. `}` +
    `Stream ${streamMs.p50} and ${streamMs.p99} ms (p50, p99), invocation ${invokeMs.p50} and ${invokeMs.p99}, ` +
    `cold start ${coldStartMs}, DynamoDB ${dynamoMs}, index up to ${indexLagMs} behind.`
  );
}

/** Returns the latencies that the evidence has measured. */
export function measuredLatencies({ parts }: Evidence): Partial<Latencies> {
  const { stream, starts, signatures, indexLag } = parts;
  const spread = (values: readonly number[]) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });
  return {
    ...(stream.status === 'measured' ? { streamMs: spread(stream.measured.toFirstLine) } : {}),
    ...(starts.status === 'measured'
      ? {
          invokeMs: spread(starts.measured.warm),
          coldStartMs: percentile(starts.measured.cold, 0.5) - percentile(starts.measured.warm, 0.5),
        }
      : {}),
    ...(signatures.status === 'measured' ? { dynamoMs: percentile(signatures.measured.request, 0.5) } : {}),
    ...(indexLag.status === 'measured' ? { indexLagMs: percentile(indexLag.measured.ready, 0.99) } : {}),
  };
}
