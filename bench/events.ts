/** Three events in the shape and layout that their senders document, cut to 2 KB of text; as JSON without spaces they are shorter. */
import { readFileSync } from 'node:fs';
import { utf8Bytes } from '../shared/core/runtime/bytes.ts';
import type { Json } from '../shared/core/json.ts';

const FILES = {
  'S3 notification': 's3-notification',
  'GitHub push': 'github-push',
  'Stripe invoice': 'stripe-invoice',
} as const;

export const EVENTS = {
  'S3 notification': read(FILES['S3 notification']),
  'GitHub push': read(FILES['GitHub push']),
  'Stripe invoice': read(FILES['Stripe invoice']),
} as const satisfies Readonly<Record<keyof typeof FILES, Json>>;

/** Bytes of an event's text as it is documented, with its spaces and line breaks. */
export function documentedBytes(event: keyof typeof EVENTS): number {
  return utf8Bytes(textOf(FILES[event]));
}

function read(name: string): Json {
  return JSON.parse(textOf(name)) as Json;
}

function textOf(name: string): string {
  return readFileSync(new URL(`events/${name}.json`, import.meta.url), 'utf8');
}
