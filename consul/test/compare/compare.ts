/**
 * `node consul/test/compare/compare.ts`: compares the gateway with a real Consul, built from its Go module if Go is installed.
 *
 * Both get the same requests, first fixed ones and then sequences generated from a seed, and every response is compared:
 * status, body, and the headers that clients read. Index numbers are not compared, because they are clocks here.
 */
import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { CONSUL_VERSION, findConsul, startConsul } from '../../bench/real-consul.ts';
import { wholeNumber } from '../../../cli/arguments.ts';
import { startEngine } from '../../../local/engine.ts';
import { GatewayTable } from '../support.ts';
import type { Step } from './ask.ts';
import { Side } from './ask.ts';
import type { Exchange } from './differences.ts';
import { explanationOf } from './differences.ts';
import { FIXED, sequence } from './steps.ts';

interface Report {
  asked: number;
  same: number;
  readonly meant: Record<string, number>;
  readonly unexplained: { readonly where: string; readonly exchange: Exchange }[];
}

const NODE = 'node-1';

const options = new Command('node consul/test/compare/compare.ts')
  .description(`Asks the gateway and a real Consul ${CONSUL_VERSION} the same, and compares the answers.`)
  .option('--seed <n>', 'the first of the sequences', wholeNumber(0), 1)
  .option('--sequences <n>', 'how many', wholeNumber(0), 40)
  .option('--length <n>', 'of each, in requests', wholeNumber(4), 40)
  .option('--json', 'one JSON object as the last line')
  .parse()
  .opts<{ readonly seed: number; readonly sequences: number; readonly length: number; readonly json?: boolean }>();

const found = await findConsul({ builds: true });
if ('missing' in found) {
  process.stdout.write(`skipped: there is no Consul ${CONSUL_VERSION} to compare with: ${found.missing}\n`);
  if (options.json === true) process.stdout.write(`${JSON.stringify({ skipped: found.missing })}\n`);
} else {
  const report = await compare(found.program);
  print(report);
  process.exitCode = report.unexplained.length === 0 ? 0 : 1;
}

async function compare(program: string): Promise<Report> {
  const engine = await startEngine({ kind: 'embedded' });
  const consul = await startConsul(program, NODE);
  const table = await GatewayTable.open(engine.endpoint);
  try {
    const gateway = await table.start({ node: NODE, minTtlMs: 1_000 });
    const sides = [new Side(gateway.url), new Side(consul.url)] as const;
    const report: Report = { asked: 0, same: 0, meant: {}, unexplained: [] };
    await replay(FIXED, 'fixed', sides, report);
    for (let seed = options.seed; seed < options.seed + options.sequences; seed++)
      await replay(sequence(seed, options.length), `seed ${seed}`, sides, report);
    return report;
  } finally {
    await table.close();
    await consul.stop();
    await engine.stop();
  }
}

async function replay(steps: readonly Step[], name: string, sides: readonly [Side, Side], report: Report) {
  for (const side of sides) side.forget();
  for (const [at, step] of steps.entries()) {
    const [ours, theirs] = await Promise.all([sides[0].ask(step), sides[1].ask(step)]);
    report.asked++;
    if (isDeepStrictEqual(ours, theirs)) {
      report.same++;
      continue;
    }
    const exchange = { step, ours, theirs };
    const explanation = explanationOf(exchange);
    if (explanation === undefined) report.unexplained.push({ where: `${name}, request ${at + 1}`, exchange });
    else report.meant[explanation.name] = (report.meant[explanation.name] ?? 0) + 1;
    if (explanation?.diverges === true) return;
  }
}

function print({ asked, same, meant, unexplained }: Report): void {
  const lines = [`${asked} requests, ${same} answered alike`];
  for (const [name, count] of Object.entries(meant)) lines.push(`${count} differ as consul/README.md says: ${name}`);
  for (const { where, exchange } of unexplained) {
    const { step, ours, theirs } = exchange;
    lines.push(`NOT EXPLAINED (${where}): ${step.method} ${step.path} ${(step.body ?? '').slice(0, 300)}`);
    lines.push(`  ours   ${JSON.stringify(ours)}`, `  Consul ${JSON.stringify(theirs)}`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
  if (options.json === true)
    process.stdout.write(`${JSON.stringify({ asked, same, meant, unexplained: unexplained.length })}\n`);
}
