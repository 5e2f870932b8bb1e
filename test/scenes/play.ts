/** Plays a scene in a separate world: the same ids, draws and times in every run. */
import { inspect } from 'node:util';
import type { DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import type { Process, World } from '../support/coordination.ts';
import { passTime, simulatedWorld } from '../support/coordination.ts';
import { Prng } from '../support/machines/prng.ts';
import type { Party, Scene } from './scene.ts';
import { partyIn } from './scene.ts';

/**
 * Two processes of a world, whose ids do not depend on what the other one does.
 * @param tag part of each id, because a table may have rows of other scenes
 */
async function openParty(world: World, tag: string): Promise<Party> {
  const start = (name: string) => {
    let made = 0;
    const next = (): string => `${tag}${name}-${String(++made).padStart(4, '0')}`;
    return world.start({}, { ids: { unique: next, ordered: next }, random: new Prng(1n).fork(name) });
  };
  return passTime(world, partyIn(world, { here: start('here'), there: start('there') }));
}

/** A world whose rows can be compared, if it is simulated. */
type Played = World & Partial<ReturnType<typeof simulatedWorld>>;

/** A scene up to its act. */
export interface Set {
  readonly world: Played;
  readonly party: Party;
  readonly given: never;
  readonly act: () => Promise<Answer>;
}

export interface Answer {
  readonly text: string;
  readonly error: Error | undefined;
}

export async function set(scene: Scene, world: Played = simulatedWorld(), tag = ''): Promise<Set> {
  const party = await openParty(world, tag);
  // Time passes only at explicit steps.
  const given = (await scene.before(party)) as never;
  party.there.driver.isDown = false;
  const act = (): Promise<Answer> =>
    passTime(
      world,
      scene.act(party, given).then(
        (answer) => ({ text: told(answer), error: undefined }),
        (thrown: unknown) => {
          const error = thrown as Error;
          return { text: `${error.name}: ${error.message}`, error };
        },
      ),
    );
  return { world, party, given, act };
}

/** Only the kind of a store's outcome: the row is compared with all the others. */
function told(answer: unknown): string {
  const outcome = answer as
    | { readonly kind?: string; readonly earlierAttempt?: string; readonly row?: object }
    | undefined;
  const isOutcome =
    typeof answer === 'object' && answer !== null && ['applied', 'refused'].includes(outcome?.kind ?? '');
  return isOutcome ? String(outcome?.kind) : shown(answer);
}

export function shown(value: unknown): string {
  return inspect(value, { depth: 8, breakLength: Infinity, compact: true, maxArrayLength: null, maxStringLength: 400 });
}

/** The rows of a world, without what differs between two runs that end alike: times, nonces, and how many ids were made. */
export function remains(rows: readonly DynamoItem[]): string {
  const told = rows.map(({ nonce: _, ...row }) => alike(shown(row)));
  return told.sort().join('\n');
}

/** Without times, and without numbers of ids. */
export function alike(text: string): string {
  return text
    .replace(TIME, 'TIME')
    .replace(CLAIMED_AT, 'TIME')
    .replace(ID, '$1')
    .replace(ATTEMPTS, 'after some attempts')
    .replace(WAITED, '$1WAITED#');
}

/** In the text of a permit's claim, in base 36. */
const CLAIMED_AT = /(?<=\/)[lm][0-9a-z]{7}\b/g;
/** In milliseconds, in seconds, and as texts of the schedules. */
const TIME = /\b0*1[78]\d{8}(?:\d{3}|)\b|\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g;
const ID = /\b(here|there)-\d{4}\b/g;
/** In the entry of a task that ended while it waited. */
const WAITED = /(#cancelled#\w+#)\d+#/g;
const ATTEMPTS = /after \d+ attempts/g;

/** The interference between a process and the table, at each of its later requests. */
export type Interference = (
  request: number,
  send: () => Promise<unknown>,
  kind: DynamoKind,
  input: object,
) => Promise<unknown>;

/** Returns how many requests were sent. */
export function interfere({ driver }: Process, interference: Interference): { readonly count: number; stop(): void } {
  const attempt = driver.attempt.bind(driver);
  const state = { count: 0, stop: () => void (driver.attempt = attempt) };
  driver.attempt = (kind, input, signal) =>
    interference(state.count++, () => attempt(kind, input, signal), kind, input) as ReturnType<
      typeof attempt<typeof kind>
    >;
  return state;
}
