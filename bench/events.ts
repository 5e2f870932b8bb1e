/** Three events as their senders publish them, cut to just under 2 KB: inputs that tasks really get. */
import { readFileSync } from 'node:fs';
import type { Json } from '../shared/core/json.ts';

export const EVENTS = {
  'S3 notification': read('s3-notification'),
  'GitHub push': read('github-push'),
  'Stripe invoice': read('stripe-invoice'),
} as const satisfies Readonly<Record<string, Json>>;

function read(name: string): Json {
  return JSON.parse(readFileSync(new URL(`events/${name}.json`, import.meta.url), 'utf8')) as Json;
}
