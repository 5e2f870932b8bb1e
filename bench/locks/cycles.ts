/** Cycles of acquiring and giving back, by contestants that take turns; who begins changes from round to round. */
import { systemClock as clock } from '../../shared/core/runtime/clock.ts';
import type { Spread } from '../figures.ts';
import { spreadOf } from '../figures.ts';
import type { Contestant } from './contestants.ts';

const FLOWS = 16;
export const SCENES = {
  freshAlone: { flows: 1, use: 'once', key: (_flow: number, cycle: number) => `fresh-${cycle}` },
  fresh16: {
    flows: FLOWS,
    use: 'once',
    key: (flow: number, cycle: number) => `fresh-${flow}-${cycle}`,
  },
  sameAlone: { flows: 1, use: 'again', key: (flow: number) => `same-${flow}` },
  same16: { flows: FLOWS, use: 'again', key: (flow: number) => `same-${flow}` },
} as const;
export type SceneName = keyof typeof SCENES;
export const SCENE_NAMES = Object.keys(SCENES) as readonly SceneName[];

/** One contestant in one scene of one round. */
interface Turn {
  readonly cyclesPerSecond: number;
  /** CPU of this process; engines are other processes. */
  readonly cpuMsPerCycle: number;
}

/** One contestant's turns, one for each round that counts. */
export type Turns = Readonly<Record<SceneName, readonly Turn[]>>;

export async function playRounds(
  contestants: readonly Contestant[],
  { rounds, roundMs }: { readonly rounds: number; readonly roundMs: number },
): Promise<ReadonlyMap<Contestant, Turns>> {
  const turns = new Map(
    contestants.map((contestant): [Contestant, Record<SceneName, Turn[]>] => [
      contestant,
      { freshAlone: [], fresh16: [], sameAlone: [], same16: [] },
    ]),
  );
  // The first round warms engine and compiler, and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const scene of SCENE_NAMES)
      for (const contestant of rotated(contestants, round)) {
        const turn = await playTurn(contestant, scene, roundMs, `r${round}`);
        if (round > 0) turns.get(contestant)?.[scene].push(turn);
      }
    console.error(`round ${round} of ${rounds}${round === 0 ? ' (warm-up)' : ''}`);
  }
  return turns;
}

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

async function playTurn(contestant: Contestant, scene: SceneName, ms: number, prefix: string): Promise<Turn> {
  const { flows, use, key } = SCENES[scene];
  const startedAt = clock.monotonic();
  const cpuBefore = process.cpuUsage();
  let done = 0;
  const flow = async (index: number): Promise<void> => {
    for (let cycle = 0; clock.monotonic() - startedAt < ms; cycle++) {
      await contestant.cycle(`${prefix}-${key(index, cycle)}`, use);
      done++;
    }
  };
  await Promise.all(Array.from({ length: flows }, (_, index) => flow(index)));
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    cyclesPerSecond: (done / (clock.monotonic() - startedAt)) * 1_000,
    cpuMsPerCycle: (user + system) / 1_000 / done,
  };
}

export function rateOf(turns: Turns, scene: SceneName): Spread {
  return spreadOf(turns[scene].map(({ cyclesPerSecond }) => cyclesPerSecond));
}

/** Ours against the fastest of the others in each scene, each round by itself: rounds meet the machine in different moods. */
export function ratiosTo(ours: Turns, others: readonly Turns[]): Readonly<Record<SceneName, Spread>> {
  const ratioIn = (scene: SceneName): Spread =>
    spreadOf(
      ours[scene].map(({ cyclesPerSecond }, round) => {
        const best = Math.max(...others.map((turns) => turns[scene][round]?.cyclesPerSecond ?? NaN));
        return cyclesPerSecond / best;
      }),
    );
  return {
    freshAlone: ratioIn('freshAlone'),
    fresh16: ratioIn('fresh16'),
    sameAlone: ratioIn('sameAlone'),
    same16: ratioIn('same16'),
  };
}
