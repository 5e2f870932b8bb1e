/**
 * The sequencer: (table, kind, key, lease counter, session) as one string for other processes.
 *
 * A service that receives one can ask the table whether that lease is still current (`verify`),
 * and can order two sequencers of one key by their counters.
 * Its parts are URI-encoded, so no name can pass for another part, and a digest at its end finds damage before any request.
 * The digest is not a signature: what prevents forgery is that a session's id cannot be guessed.
 */
import { sha256 } from '../runtime/sha256.ts';
import { ConfigurationError } from '../errors.ts';

type LeaseKind = 'lock' | 'task' | 'semaphore';

export interface Sequencer {
  /** The lease's table, because equal keys in two tables are two leases. */
  readonly table: string;
  readonly kind: LeaseKind;
  readonly key: string;
  readonly leaseCounter: number;
  readonly session: string;
}

const KINDS: readonly LeaseKind[] = ['lock', 'task', 'semaphore'];
const MARK = 'leasehold-1';
const DIGEST_CHARACTERS = 12;
const PASS_IT_WHOLE = 'pass the whole text as it was given';

export function formatSequencer({ table, kind, key, leaseCounter, session }: Sequencer): string {
  const body = [MARK, ...[table, kind, key, String(leaseCounter), session].map(encodeURIComponent)].join(':');
  return `${body}:${digestOf(body)}`;
}

/**
 * @param table the table that the sequencer will be checked against
 * @throws ConfigurationError if the text is not a sequencer, was changed, or belongs to another table
 */
export function parseSequencer(text: string, table: string): Sequencer {
  const parts = typeof text === 'string' ? text.split(':') : [];
  const [mark, foundTable = '', kind = '', key = '', counter = '', session = '', digest] = parts;
  if (mark !== MARK || parts.length !== 7)
    throw new ConfigurationError(`not a sequencer: ${shortened(text)}; ${PASS_IT_WHOLE}`);
  if (digest !== digestOf(text.slice(0, text.lastIndexOf(':'))))
    throw new ConfigurationError(`the sequencer was changed, because its digest does not match; ${PASS_IT_WHOLE}`);
  const sequencer = {
    table: decoded(foundTable),
    kind: KINDS.find((known) => known === kind),
    key: decoded(key),
    leaseCounter: Number(counter),
    session: decoded(session),
  };
  if (sequencer.kind === undefined || !Number.isSafeInteger(sequencer.leaseCounter))
    throw new ConfigurationError(`this version does not know the kind of the sequencer: ${kind}, counter ${counter}`);
  if (sequencer.table !== table)
    throw new ConfigurationError(
      `the sequencer belongs to table ${sequencer.table}, and this is table ${table}: verify it there`,
    );
  return { ...sequencer, kind: sequencer.kind };
}

function digestOf(body: string): string {
  return sha256(body, 'base64url').slice(0, DIGEST_CHARACTERS);
}

/** @throws ConfigurationError for text that was never encoded here, although its digest matches */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new ConfigurationError(`not a sequencer: ${shortened(part)} is not part of one; ${PASS_IT_WHOLE}`, { cause });
  }
}

/** Accepts anything that an untyped caller may pass. */
function shortened(text: unknown): string {
  return String(text).slice(0, 80);
}
