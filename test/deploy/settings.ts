/** What the deployed stack and the test that watches it agree on. */
export const STACK = 'LeaseholdUnderTest';
export const QUEUE = 'deployed';
export const SHARDS = 4;
export const WORKER_TIMEOUT_MS = 180_000;
export const DEADLINE_MARGIN_MS = 5_000;
export const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';
