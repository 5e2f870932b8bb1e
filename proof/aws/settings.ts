/** Names shared by the stack of the evidence, its functions and the command that reads them. */

/** Each run has its own stack: six characters follow. */
export const STACK_PREFIX = 'LeaseholdEvidence-';
export const QUEUE = 'evidence';
/** Tasks of this queue are read from the stream, and run by nobody. */
export const STREAM_QUEUE = 'evidence-stream';
export const SHARDS = 8;
/** An invocation that blocks ends by it, so it is short. */
export const WORKER_TIMEOUT_SECONDS = 60;
export const EFFECTS_VARIABLE = 'EVIDENCE_EFFECTS';
export const STARTS_VARIABLE = 'EVIDENCE_STARTS';
export const ROTATED_VARIABLE = 'EVIDENCE_ROTATED_ROLE';

export interface Outputs {
  readonly TableName: string;
  readonly EffectsName: string;
  readonly ProbeName: string;
  readonly FrozenName: string;
}

/** How a task ends its worker, the first time. */
export const KILLS = ['exit', 'memory', 'timeout'] as const;
export type Kill = (typeof KILLS)[number];

export const startKey = (id: string): string => `start/${id}`;
export const streamKey = (id: string): string => `stream/${id}`;

/** A variable that the stack sets. @throws Error */
export function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`the stack did not set ${name}`);
  return value;
}
