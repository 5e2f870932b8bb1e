/**
 * `node test/simulation/mutations/conjuncts.ts [--only <part of a verb>] [--seeds 20]`
 *
 * Drops each conjunct of each guard in turn, and looks for what notices: every placement of one fault in every short flow,
 * then histories. Prints a line for each; what survives is guarded a second time elsewhere, or is for a named test to kill.
 */
import { Command } from 'commander';
import { wholeNumber } from '../../../cli/arguments.ts';
import type { Violation } from '../invariants/rule.ts';
import { FLOWS } from '../placement/flows.ts';
import { FAULTS, play } from '../placement/stage.ts';
import { runSeed } from '../run-seed.ts';
import { SimulatedStore } from '../store.ts';
import type { Conjunct } from './conjunct.ts';
import { allConjuncts, withoutConjunct } from './conjunct.ts';

interface Flags {
  readonly only: string;
  readonly seeds: number;
}

interface Found {
  readonly by: string | undefined;
  readonly sent: number;
}

Error.stackTraceLimit = 0;

const flags = new Command('conjuncts')
  .option('--only <verb>', 'those of verbs that begin so', '')
  .option('--seeds <n>', 'histories until one counts as unnoticed', wholeNumber(1), 20)
  .parse()
  .opts<Flags>();

let [killed, survived, unsent] = [0, 0, 0];
for (const conjunct of allConjuncts().filter(({ verb }) => verb.startsWith(flags.only))) {
  const { by, sent } = await hunt(conjunct);
  if (sent === 0) unsent++;
  else if (by === undefined) survived++;
  else killed++;
  const how = sent === 0 ? 'never sent' : (by ?? 'SURVIVED');
  console.log(`${conjunct.verb} | ${conjunct.conjunct} | ${how} | sent ${sent} times`);
}
console.log(`${killed} killed, ${survived} survived, ${unsent} never sent`);

async function hunt(conjunct: Conjunct): Promise<Found> {
  let sent = 0;
  SimulatedStore.rewrite = (input) =>
    withoutConjunct(input, conjunct, () => {
      sent++;
    });
  try {
    return { by: await firstKill(), sent };
  } finally {
    SimulatedStore.rewrite = undefined;
  }

  /** A flow that does not send it cannot notice. */
  async function firstKill(): Promise<string | undefined> {
    for (const flow of FLOWS) {
      const before = sent;
      const undisturbed = await play(flow, []);
      if (undisturbed.violations[0] !== undefined) return named(flow.name, undisturbed.violations[0]);
      if (sent === before) continue;
      for (let request = 1; request <= undisturbed.requests; request++)
        for (const fault of FAULTS) {
          const [violation] = (await play(flow, [{ request, fault }])).violations;
          if (violation !== undefined) return named(`${flow.name}, ${fault} at ${request}`, violation);
        }
    }
    for (let seed = 1; seed <= flags.seeds; seed++) {
      const [violation] = (await runSeed(BigInt(seed), 'swarm', { stopAtViolation: true })).violations;
      if (violation !== undefined) return named(`seed ${seed}`, violation);
    }
    return undefined;
  }
}

function named(where: string, { invariant }: Violation): string {
  return `${invariant} by ${where}`;
}
