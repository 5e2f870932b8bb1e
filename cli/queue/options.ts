/** Options for the queue and its number of shards. */
import { Option } from 'commander';
import { DEFAULT_QUEUE, DEFAULT_SHARDS, ENV, MAX_SHARDS } from '../../functions/env.ts';
import { name, wholeNumber } from '../arguments.ts';

export interface QueueOptions {
  readonly queue: string;
  readonly shards: number;
}

export function queueOption(): Option {
  return new Option('--queue <name>', 'the queue').env(ENV.queue).default(DEFAULT_QUEUE).argParser(name);
}

/** Must match the deployment, because tasks in other shards wait until a tick reads them. */
export function shardsOption(): Option {
  return new Option('--shards <n>', "the queue's shards, as deployed")
    .env(ENV.shards)
    .default(DEFAULT_SHARDS)
    .argParser(wholeNumber(1, MAX_SHARDS));
}
