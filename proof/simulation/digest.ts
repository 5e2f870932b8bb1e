/** `node proof/simulation/digest.ts FROM COUNT`: one line a seed, for comparing processes and machines. */
import { runSeed } from './run-seed.ts';

const [from = '1', count = '10'] = process.argv.slice(2);
for (let index = 0n; index < BigInt(count); index++) {
  const { digest, steps } = await runSeed(BigInt(from) + index, 'swarm');
  console.log(`${BigInt(from) + index} ${digest} ${steps}`);
}
