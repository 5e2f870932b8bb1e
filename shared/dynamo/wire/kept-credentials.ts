/** Caches the credentials of a provider function for the whole isolate, until shortly before they expire. */
import { ConfigurationError } from '../../core/errors.ts';
import type { Credentials, Identity } from './credentials.ts';
import { isSameIdentity } from './credentials.ts';

export interface TemporaryCredentials extends Credentials {
  /** When they expire: a date, its text, or milliseconds since 1970. Absent: they are cached until they are refused. */
  readonly expiration?: Date | string | number | undefined;
}

/** @throws ConfigurationError, which quotes none of them */
export function ensureCredentials(credentials: unknown): void {
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = (credentials ??
    {}) as Partial<TemporaryCredentials>;
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
  if (!isText(accessKeyId) || !isText(secretAccessKey))
    throw new ConfigurationError(
      'credentials: pass accessKeyId and secretAccessKey, with the sessionToken of temporary ones, or a function that does',
    );
  if (sessionToken !== undefined && !isText(sessionToken))
    throw new ConfigurationError('credentials: sessionToken is not a text, or empty; leave it out if there is none');
  if (expiration !== undefined && Number.isNaN(new Date(expiration).getTime()))
    throw new ConfigurationError('credentials: expiration is not a date, its text, or milliseconds since 1970');
}

/** Called when credentials are first needed, five minutes before they expire, and when the service refuses them. */
export type CredentialProvider = () => TemporaryCredentials | Promise<TemporaryCredentials>;

/** As in the SDK: credentials that may expire in flight are not used for signing. */
const RENEW_BEFORE_END_MS = 5 * 60_000;

/**
 * The isolate's credentials, by provider. It never stores promises, because a request must not wait for work that another request has
 * started.
 */
const KEPT = new WeakMap<CredentialProvider, TemporaryCredentials>();

export class KeptCredentials {
  readonly #source: TemporaryCredentials | CredentialProvider;
  readonly #now: () => number;
  #asking: Promise<TemporaryCredentials> | undefined;

  constructor(source: TemporaryCredentials | CredentialProvider, now: () => number) {
    this.#source = source;
    this.#now = now;
  }

  /** @throws the provider's error, unless its earlier credentials are still valid */
  async current(): Promise<Credentials> {
    if (typeof this.#source !== 'function') return this.#source;
    const kept = KEPT.get(this.#source);
    if (kept !== undefined && this.#leftMs(kept) > RENEW_BEFORE_END_MS) return kept;
    try {
      return await this.#ask(this.#source);
    } catch (error) {
      if (kept !== undefined && this.#leftMs(kept) > 0) return kept;
      throw error;
    }
  }

  /** Whether other credentials than the refused ones are available now. @throws the provider's error */
  async areOthersThan(refused: Identity): Promise<boolean> {
    if (typeof this.#source !== 'function') return false;
    const kept = KEPT.get(this.#source);
    if (kept !== undefined && !isSameIdentity(kept, refused)) return true;
    return !isSameIdentity(await this.#ask(this.#source), refused);
  }

  #ask(provider: CredentialProvider): Promise<TemporaryCredentials> {
    const ask = async (): Promise<TemporaryCredentials> => {
      const credentials = await provider();
      ensureCredentials(credentials);
      KEPT.set(provider, credentials);
      return credentials;
    };
    this.#asking ??= ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  #leftMs({ expiration }: TemporaryCredentials): number {
    return expiration === undefined ? Infinity : new Date(expiration).getTime() - this.#now();
  }
}
