/**
 * The three tiers of tests. Each test file has one home, by its place and its name:
 *
 * | tier | command | holds |
 * | --- | --- | --- |
 * | `first` | `npm test` | the folders of FIRST |
 * | `full` | `npm run test:full` | all other folders, and `*.full.test.ts` |
 * | `long` | `npm run test:nightly` | `*.long.test.ts` |
 */
export interface Tier {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const PLACES = '{test,proof,console,consul}';
export const ALL = `${PLACES}/**/*.test.ts`;
export const LONG = `${PLACES}/**/*.long.test.ts`;
const FULL = `${PLACES}/**/*.full.test.ts`;
/** Tests without separate processes, and one path through each kind that needs them. */
const FIRST = [
  ...['cli', 'conformance', 'docs', 'functions', 'infra', 'smoke', 'tools', 'unit'].map((folder) => `test/${folder}`),
  ...['conjuncts', 'simulation', 'spec'].map((folder) => `proof/${folder}`),
  'console/test/unit',
  ...['conformance', 'unit'].map((folder) => `consul/test/${folder}`),
];

export const TIERS: Readonly<Record<'first' | 'full' | 'long', Tier>> = {
  first: { include: FIRST.map((folder) => `${folder}/**/*.test.ts`), exclude: [FULL, LONG] },
  full: { include: [ALL], exclude: [...FIRST.map((folder) => `${folder}/**/!(*.full).test.ts`), LONG] },
  long: { include: [LONG], exclude: [] },
};
