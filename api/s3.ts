/** `leasehold/s3`: large inputs in a bucket of your own. Needs `@aws-sdk/client-s3` beside this package. */
export { createS3Payloads } from '../shared/tasks/s3/payloads.ts';
export type { S3PayloadOptions } from '../shared/tasks/s3/payloads.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
