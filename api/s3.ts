/** `leasehold/s3`: large inputs in your own bucket. Requires `@aws-sdk/client-s3`. */
export { createS3Payloads } from '../shared/tasks/s3/payloads.ts';
export type { S3PayloadOptions } from '../shared/tasks/s3/payloads.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
