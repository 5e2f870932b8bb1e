/** Plays a scene in a world of its own: the same ids, draws and times in every run. */
import { inspect } from 'node:util';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { World } from '../support/coordination.ts';
import { passTime, simulatedWorld } from '../support/coordination.ts';
import { Prng } from '../support/machines/prng.ts';
import type { Party, Scene } from './scene.ts';
import { partyIn } from './scene.ts';

/**
 * Two processes of a world, whose ids do not depend on what the other one does.
 * @param tag part of each id, for a table that has heard of the ids of other scenes
 */
async function openParty(world: World, tag: string): Promise<Party> {
  const start = (name: string) => {
    let made = 0;
    const next = (): string => `${tag}${name}-${String(++made).padStart(4, '0')}`;
    return world.start({}, { ids: { unique: next, ordered: next }, random: new Prng(1n).fork(name) });
  };
  return passTime(world, partyIn(world, { here: start('here'), there: start('there') }));
}

/** A scene up to its act. */
export interface Set {
  readonly party: Party;
  readonly given: never;
  readonly act: () => Promise<Answer>;
}

export interface Answer {
  readonly text: string;
  readonly error: Error | undefined;
}

export async function set(scene: Scene, world: World = simulatedWorld(), tag = ''): Promise<Set> {
  const party = await openParty(world, tag);
  // Time passes only where it says so.
  const given = (await scene.before(party)) as never;
  party.there.driver.isDown = false;
  const act = (): Promise<Answer> =>
    passTime(
      world,
      scene.act(party, given).then(
        (answer) => ({ text: shown(answer), error: undefined }),
        (thrown: unknown) => {
          const error = thrown as Error;
          return { text: `${error.name}: ${error.message}`, error };
        },
      ),
    );
  return { party, given, act };
}

export function shown(value: unknown): string {
  return inspect(value, { depth: 8, breakLength: Infinity, compact: true, maxArrayLength: null, maxStringLength: 400 });
}

/** Rows by their key, without what each write makes anew. */
export function rowsOf(rows: readonly DynamoItem[], isTold: (name: string) => boolean): ReadonlyMap<string, string> {
  return new Map(
    rows.map((row) => [
      `${String(row.pk)} ${String(row.sk)}`,
      shown(Object.fromEntries(Object.entries(row).filter(([name]) => isTold(name)))),
    ]),
  );
}
