/**
 * Handles refused credentials and refused times. The request was not applied, and the next attempt can often be signed with better ones.
 *
 * No part of the SDK requests new credentials because the current ones have expired,
 * so a process that gets new credentials keeps using the old ones until they fail.
 */
import { DynamoFault } from '../engine/driver.ts';
import type { Answer } from './answer.ts';
import { dateOf } from './answer.ts';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Called for every request. It caches the credentials and refreshes them in time. */
export type CredentialSource = (options?: { readonly forceRefresh?: boolean }) => Promise<Credentials>;

/** The credentials that signed a request. */
export interface Identity {
  readonly accessKeyId: string;
  readonly sessionToken?: string | undefined;
}

/** `credentials`: not valid, or no longer valid. `time`: signed too long ago or too early. */
type Refusal = 'credentials' | 'time';

/** A driver's operations that let the next attempt be signed better. */
interface Corrections {
  /** @param offsetMs how far the service's clock is ahead */
  readonly time: (offsetMs: number) => void;
  /** Whether other credentials than the refused ones are available now. */
  readonly credentials: () => Promise<boolean>;
}

/** Returns the fault of an answer; `unverified` if its signature was refused and another attempt may sign better. */
export async function reconsidered(
  fault: DynamoFault,
  { answer, receivedAt, signal }: { answer: Answer; receivedAt: number; signal: AbortSignal },
  correct: Corrections,
): Promise<DynamoFault> {
  const refusal = refusalOf(fault, answer, receivedAt);
  if (refusal === 'time') correct.time(offsetFor(answer, receivedAt));
  // If the source of credentials fails, another attempt may get different ones.
  const isRenewed = refusal === 'credentials' && (await unlessAborted(correct.credentials(), signal).catch(() => true));
  return refusal === 'time' || isRenewed ? new DynamoFault('unverified', fault) : fault;
}

/** A larger difference counts as a wrong time. The service allows 5 minutes. */
const SKEW_LIMIT_MS = 4 * 60_000;

/** Returns the refused part of a signature, if another attempt may get it right. */
function refusalOf({ kind, code, message }: DynamoFault, answer: Answer, now: number): Refusal | undefined {
  if (kind !== 'rejected') return undefined;
  if (BAD_CREDENTIALS.has(code)) return 'credentials';
  if (BAD_TIMES.has(code)) return 'time';
  if (!BAD_SIGNATURES.has(code)) return undefined;
  // A wrong secret has the same code. The date distinguishes them, or else the message.
  return offsetFor(answer, now) !== 0 || OF_ANOTHER_TIME.test(message) ? 'time' : undefined;
}

/** How far the service's clock is ahead of this machine's. 0 if it does not matter, or if the response does not show it. */
function offsetFor(answer: Answer, now: number): number {
  const skewMs = (dateOf(answer) ?? now) - now;
  return Math.abs(skewMs) > SKEW_LIMIT_MS ? skewMs : 0;
}

const BAD_CREDENTIALS = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
]);
const BAD_TIMES = new Set(['RequestExpired', 'RequestTimeTooSkewed']);
const BAD_SIGNATURES = new Set(['InvalidSignatureException', 'SignatureDoesNotMatch']);
const OF_ANOTHER_TIME = /^Signature (expired|not yet current)/;

/** Refreshes once for any number of refused requests. */
export class Renewal {
  readonly #source: CredentialSource;
  #underWay: Promise<Credentials> | undefined;

  constructor(source: CredentialSource) {
    this.#source = source;
  }

  /** Whether other credentials than the refused ones are available now. @throws the source's error */
  async finds(refused: Identity): Promise<boolean> {
    if (!isSameIdentity(await this.#source(), refused)) return true;
    this.#underWay ??= this.#source({ forceRefresh: true }).finally(() => {
      this.#underWay = undefined;
    });
    return !isSameIdentity(await this.#underWay, refused);
  }
}

export function isSameIdentity(one: Identity, other: Identity): boolean {
  return one.accessKeyId === other.accessKeyId && one.sessionToken === other.sessionToken;
}

/** Settles like the promise, or rejects when the signal aborts; the promise's later result has no effect. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(new Error('given up while waiting'));
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise
      .finally(() => {
        signal.removeEventListener('abort', abort);
      })
      .then(resolve, reject);
  });
}
