/** The function that measures from inside the region: `{ measure, … }` names what, and its answer is one part of the evidence. */
import { copies, signatures, throttles } from './probe-protocol.ts';
import { dates, indexLag, starts, stream } from './probe-latency.ts';

const MEASURES = { indexLag, stream, starts, dates, signatures, copies, throttles } as const;
export type Measure = keyof typeof MEASURES;
export type SizesOf<Name extends Measure> = Parameters<(typeof MEASURES)[Name]>[0];
export type AnswerOf<Name extends Measure> = Awaited<ReturnType<(typeof MEASURES)[Name]>>;

export interface ProbeEvent<Name extends Measure = Measure> {
  readonly measure: Name;
  readonly sizes: SizesOf<Name>;
}

export async function handler<Name extends Measure>({ measure, sizes }: ProbeEvent<Name>): Promise<AnswerOf<Name>> {
  const run = MEASURES[measure] as unknown as (sizes: SizesOf<Name>) => Promise<AnswerOf<Name>>;
  return run(sizes);
}
