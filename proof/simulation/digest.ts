/**
 * For comparing processes, machines and commits. `node proof/simulation/digest.ts FROM COUNT`: one line a seed of the swarm.
 * `node proof/simulation/digest.ts SEED events`: one line an event of a seed of the default mix.
 */
import { plainText } from '../../test/support/row-text.ts';
import { makeTurnable } from './knobs/turn.ts';

makeTurnable();
const { runSeed } = await import('./run-seed.ts');

const [from = '1', what = '10'] = process.argv.slice(2);
if (what === 'events') {
  const { history } = await runSeed(BigInt(from), 'mix', { keepHistory: true });
  for (const event of history) console.log(plainText(event));
} else {
  for (let index = 0n; index < BigInt(what); index++) {
    const { digest, steps } = await runSeed(BigInt(from) + index, 'swarm');
    console.log(`${BigInt(from) + index} ${digest} ${steps}`);
  }
}
