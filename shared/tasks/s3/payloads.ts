/**
 * Stores large inputs in the user's bucket.
 *
 * Objects are removed when their tasks are done.
 * The bucket also needs a lifecycle rule for the prefix. It should delete objects whose worker
 * crashed before it could remove them, and the inputs of dead or cancelled tasks,
 * once it is too late to retry them.
 *
 * Requires the package `@aws-sdk/client-s3`; clients that enqueue need
 * `s3:PutObject` and `s3:DeleteObject`, workers `s3:GetObject` as well.
 */
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { defined } from '../../core/defined.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { validOptions } from '../../core/validate/options.ts';
import { DoNotRetry } from '../task/control.ts';
import type { PayloadStore } from '../task/payload.ts';
import { isPayloadOf } from '../task/payload.ts';
import type { TaskKey } from '../task/task.ts';
import { describeTask } from '../task/task.ts';

export interface S3PayloadOptions {
  readonly bucket: string;
  /** Prefix of all object names, for a lifecycle rule. */
  readonly prefix?: string;
  /** Default: a client with the SDK's defaults, and timeouts. */
  readonly client?: S3Client;
}

const DEFAULT_PREFIX = 'leasehold/';
/** A bucket that does not respond must not block callers. The largest input takes a minute at ten megabits a second. */
const TIMEOUTS = { connectionTimeout: 2_000, requestTimeout: 60_000, throwOnRequestTimeout: true };
/** Short, because a deletion sends no data and no work depends on it. */
const DELETE_TIMEOUT_MS = 2_000;

/** @throws ConfigurationError */
export function createS3Payloads(options: S3PayloadOptions): PayloadStore {
  const known = ['bucket', 'prefix', 'client'] as const;
  const { bucket, prefix = DEFAULT_PREFIX } = validOptions('the options of createS3Payloads', options, known);
  const client = options.client ?? new S3Client({ requestHandler: TIMEOUTS });
  if (typeof bucket !== 'string' || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw new ConfigurationError(`bucket = ${JSON.stringify(bucket)} is not the name of a bucket`);
  const root = `s3://${bucket}/`;
  /** Others may write to the table, so a reference must not make us read or delete unrelated objects or other tasks' payloads. */
  const keyOf = (reference: string, task: TaskKey | undefined): string => {
    if (!reference.startsWith(`${root}${prefix}`))
      throw new ConfigurationError(
        `${reference} is not in ${root}${prefix}: pass the store that its task was enqueued with`,
      );
    const name = reference.slice(root.length + prefix.length);
    if (task !== undefined && !isPayloadOf(name, task))
      throw new DoNotRetry(`${reference} is not the input of ${describeTask(task)}: its row was written by others`);
    return reference.slice(root.length);
  };
  return {
    async put(name, text) {
      const Key = `${prefix}${name}.json`;
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: text, ContentType: 'application/json' }));
      return `${root}${Key}`;
    },

    async get(reference, { signal, task } = {}) {
      try {
        const object = new GetObjectCommand({ Bucket: bucket, Key: keyOf(reference, task) });
        const { Body } = await client.send(object, defined({ abortSignal: signal }));
        return await Body?.transformToString();
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },

    async delete(reference, { signal, task } = {}) {
      const object = new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(reference, task) });
      const bounds = { requestTimeout: DELETE_TIMEOUT_MS };
      await client.send(object, signal === undefined ? bounds : { ...bounds, abortSignal: signal });
    },
  };
}
