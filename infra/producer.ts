/** The variables that tell a function its table and queue. A function has only one set of them, so they name one queue. */
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { variablesOf } from '../functions/env.ts';
import { ConfigurationError } from '../shared/core/errors.ts';

/** The values of these variables for one queue. */
interface NamedQueue {
  readonly tableName: string;
  readonly queue: string;
  readonly shards: number;
  readonly maxClockSkewMs: number;
}

/** Identifies a queue during construction: two may share a name on two tables. */
interface Owner {
  readonly queue: string;
}

const OWNERS = new WeakMap<LambdaFunction, Owner>();

/** @throws ConfigurationError if its variables already name another queue, because the last ones would silently win */
export function claimVariables(named: LambdaFunction, owner: Owner): void {
  const first = OWNERS.get(named) ?? owner;
  if (first !== owner)
    throw new ConfigurationError(
      `connect: ${named.node.path} names queue ${first.queue} in its variables already: use grantEnqueue of queue ${owner.queue}, ` +
        'and name table and queue in its code',
    );
  OWNERS.set(named, owner);
}

/** Sets what `createLeasehold()` reads. */
export function setVariables(producer: LambdaFunction, { tableName, queue, shards, maxClockSkewMs }: NamedQueue): void {
  for (const [name, value] of Object.entries(variablesOf({ table: tableName, queue, shards, maxClockSkewMs })))
    producer.addEnvironment(name, value);
}
