/** Three events in the shape that their senders document, written by hand and cut to 1.6 to 1.8 KB. */
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
