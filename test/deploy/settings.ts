/** Names shared by the deployed stacks and the test that observes them. */
export const STACK = 'LeaseholdUnderTest';
/** Two queues of one table, each with its own workers and schedule. */
export const QUEUE = 'deployed';
export const BESIDE = 'beside';
export const QUEUES: readonly string[] = [QUEUE, BESIDE];
export const SHARDS = 4;
/** So long that slow machines end no worker by it. */
export const WORKER_TIMEOUT_MS = 900_000;
export const DEADLINE_MARGIN_MS = 5_000;
export const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';
/** The test's own table: where tasks leave their effects, and the gates that they wait at. */
export const EFFECTS_TABLE = 'effects-under-test';
/** Says which attempt of a task waits at its gate, and in which process. */
export const begunKey = (task: string): string => `begun/${task}`;
/** Its row opens the gate. */
export const gateKey = (gate: string): string => `gate/${gate}`;
/** The table that point-in-time recovery creates. */
export const RESTORED_TABLE = 'leasehold-restored';

/**
 * `1` and `2` are two versions of one stack, whose schedules are disabled: the test enables them.
 * `restored` is the stack that imports the restored table. It has no stream to be woken by, and its schedules are enabled.
 */
export const REVISIONS = ['1', '2', 'restored'] as const;
export type Revision = (typeof REVISIONS)[number];
/** In the assembly, where two stacks may have one name. */
export const stackId = (revision: Revision): string => `Revision-${revision}`;
