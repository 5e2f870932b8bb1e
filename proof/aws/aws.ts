/**
 * `npm run aws -- --profile X --region Y --yes ACCOUNT`: one page of evidence from AWS.
 *
 * Prints its plan and price, deploys its own stack, measures, writes one JSON file and a page made from it, and destroys the stack
 * in every case. `--destroy-only` removes what a run that was killed outright has left.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command, Option } from 'commander';
import { EVIDENCE, EVIDENCE_FOLDER, PART_NAMES } from '../../bench/evidence.ts';
import type { PartName } from '../../bench/evidence.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import type { Caller } from './account.ts';
import { accountOf, stacksNamed } from './account.ts';
import { EvidenceStack, removeStack } from './evidence-stack.ts';
import { gather } from './gather.ts';
import { pageOf } from './page.ts';
import { dollarsOf, FULL, LIMIT_DOLLARS, planText, REHEARSAL } from './plan.ts';
import { STACK_PREFIX } from './settings.ts';
import { Interrupted, LeftBehind, withStack } from './with-stack.ts';

interface Options {
  readonly profile?: string;
  readonly region: string;
  readonly yes?: string;
  readonly destroyOnly?: boolean;
  readonly out: string;
  readonly endpoint?: string;
  readonly unsupported?: string;
  readonly json?: boolean;
}

const EX_INTERRUPTED = 130;

const options = new Command('npm run aws --')
  .description('Measures Leasehold on AWS, in a stack that it deploys and destroys.')
  .option('--profile <name>', 'AWS profile; default: the credentials of the environment')
  .requiredOption('--region <name>', 'AWS region')
  .option('--yes <account>', 'the account to use; without it, only the plan is printed')
  .option('--destroy-only', 'destroy the stacks of earlier runs')
  .option('--out <folder>', 'where the evidence is written', EVIDENCE_FOLDER)
  .option('--json', 'print the evidence as one JSON object, as the last line')
  .addOption(new Option('--endpoint <url>', 'an emulator of AWS, with a small run').hideHelp())
  .addOption(new Option('--unsupported <parts>', 'parts that the emulator does not do as AWS does').hideHelp())
  .parse()
  .opts<Options>();
process.exitCode = await main(options).catch((error: unknown) => {
  if (!(error instanceof Error)) throw error;
  console.error(`error: ${error.message}`);
  if (error instanceof LeftBehind && error.cause instanceof Error) console.error(`first: ${error.cause.message}`);
  return error instanceof Interrupted || error instanceof LeftBehind ? EX_INTERRUPTED : 1;
});
// Requests of an abandoned removal may still be open.
process.exit();

async function main({ region, endpoint, yes, destroyOnly, ...rest }: Options): Promise<number> {
  const name = `${STACK_PREFIX}${systemIds.unique().slice(0, 6)}`;
  const sizes = endpoint === undefined ? FULL : REHEARSAL;
  if (destroyOnly !== true) say(planText(sizes, name, region));
  if (dollarsOf(sizes) > LIMIT_DOLLARS) throw new Error(`the plan costs more than $${LIMIT_DOLLARS}`);
  if (yes === undefined)
    throw new Error('nothing was deployed: repeat with --yes and the number of the account to use');
  const clientConfig: DynamoDBClientConfig = {
    region,
    ...(rest.profile === undefined ? {} : { profile: rest.profile }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
  const credentials = new DynamoDBClient(clientConfig).config.credentials;
  const caller = async (): Promise<Caller> => ({ region, endpoint, credentials: await credentials() });
  const account = await accountOf(await caller());
  if (account !== yes) throw new Error(`these credentials are of account ${account}, and --yes says ${yes}`);
  if (destroyOnly === true) return destroyAll(caller);

  const profile = rest.profile === undefined ? '' : ` --profile ${rest.profile}`;
  using stack = new EvidenceStack({
    name,
    account,
    region,
    caller,
    environment: environmentOf(region, rest.profile),
    remedy:
      `stack ${name} in ${region} may be left; ` +
      `remove it with npm run aws --${profile} --region ${region} --yes ${account} --destroy-only`,
    ...(endpoint === undefined ? {} : { pollMs: 200 }),
  });
  const unsupported = new Set((rest.unsupported ?? '').split(',').filter((part) => part !== '') as PartName[]);
  for (const part of unsupported) if (!PART_NAMES.includes(part)) throw new Error(`there is no part ${part}`);
  const announced = {
    remedy: stack.remedy,
    deploy: (signal: AbortSignal) => {
      say(`step: deploy ${name}; if this process is killed outright, ${stack.remedy}`);
      return stack.deploy(signal);
    },
    destroy: () => {
      say(`step: destroy ${name}`);
      return stack.destroy();
    },
  };
  const evidence = await withStack(announced, onInterrupt, async (signal) => {
    say('step: measure');
    const parts = await gather({ outputs: stack.outputs(), clientConfig, sizes, unsupported, say }, signal);
    const platform = endpoint === undefined ? ('aws' as const) : ('emulator' as const);
    const gathered = { schema: 1, at: new Date().toISOString(), commit: commit(), region, platform, parts };
    // Before the removal, which may fail.
    return write(EVIDENCE.parse(gathered), rest.out);
  });
  say('destroyed; nothing is left of the stack');
  if (rest.json === true) console.log(JSON.stringify(evidence));
  return Object.values(evidence.parts).some(({ status }) => status === 'failed') ? 1 : 0;
}

/** For the CDK's command: as the profile is, and nothing else, if there is one. */
function environmentOf(region: string, profile: string | undefined): NodeJS.ProcessEnv {
  const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _secret, AWS_SESSION_TOKEN: _token, ...others } = process.env;
  const chosen = profile === undefined ? process.env : { ...others, AWS_PROFILE: profile };
  return { ...chosen, AWS_REGION: region, AWS_DEFAULT_REGION: region };
}

async function destroyAll(caller: () => Promise<Caller>): Promise<number> {
  const stacks = await stacksNamed(await caller(), STACK_PREFIX);
  for (const { name } of stacks) {
    await removeStack(caller, name);
    say(`destroyed ${name}`);
  }
  if (stacks.length === 0) say('there was no stack of an earlier run');
  return 0;
}

function write(evidence: ReturnType<typeof EVIDENCE.parse>, folder: string): typeof evidence {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${evidence.at.replaceAll(':', '-').slice(0, 16)}-${evidence.region}`);
  writeFileSync(`${file}.json`, `${JSON.stringify(evidence, undefined, 1)}\n`);
  writeFileSync(`${file}.md`, pageOf(evidence));
  say(`written: ${file}.json and ${file}.md`);
  return evidence;
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'unknown';
  }
}

/** An error that nobody catches interrupts as well, because it would end this process with the stack still there. */
function onInterrupt(listener: (stray?: Error) => void): () => void {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const signaled = (): void => listener();
  const stray = (error: unknown): void => listener(error instanceof Error ? error : new Error(String(error)));
  for (const name of names) process.on(name, signaled);
  process.on('uncaughtException', stray);
  return () => {
    for (const name of names) process.off(name, signaled);
    process.off('uncaughtException', stray);
  };
}

function say(line: string): void {
  console.error(line);
}
