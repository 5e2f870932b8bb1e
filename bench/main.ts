/** `npm run bench -- NAME`: side-by-side measurements, one file each. Figures come as ratios and counts, for absolute times depend on the machine. */
const BENCHES = {
  bulk: () => import('./bulk.ts'),
  'cold-start': () => import('./cold-start.ts'),
  locks: () => import('./locks.ts'),
  queue: () => import('./queue.ts'),
  scale: () => import('./scale.ts'),
  units: () => import('./units.ts'),
} as const;

const [name = '', ...rest] = process.argv.slice(2);
if (!Object.hasOwn(BENCHES, name)) {
  console.error(`no bench is named ${JSON.stringify(name)}: known are ${Object.keys(BENCHES).join(', ')}`);
  process.exitCode = 2;
} else {
  const { run } = await BENCHES[name as keyof typeof BENCHES]();
  process.exitCode = await run(rest);
}
