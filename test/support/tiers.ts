/**
 * The three tiers of tests. Each test file has one home, by its place and its name:
 *
 * | tier | command | holds |
 * | --- | --- | --- |
 * | `first` | `npm test` | the folders of FIRST |
 * | `full` | `npm run test:full` | all other folders, and `*.full.test.ts` |
 * | `long` | `npm run test:long` | `*.long.test.ts` |
 */
export interface Tier {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export const ALL = 'test/**/*.test.ts';
export const LONG = 'test/**/*.long.test.ts';
const FULL = 'test/**/*.full.test.ts';
/** What needs no process of its own, and one path through each that does. */
const FIRST = ['conformance', 'docs', 'functions', 'simulation', 'smoke', 'tools', 'unit'];

export const TIERS: Readonly<Record<'first' | 'full' | 'long', Tier>> = {
  first: { include: FIRST.map((folder) => `test/${folder}/**/*.test.ts`), exclude: [FULL, LONG] },
  full: { include: [ALL], exclude: [...FIRST.map((folder) => `test/${folder}/**/!(*.full).test.ts`), LONG] },
  long: { include: [LONG], exclude: [] },
};
