/** The options of an example, all strings. Mistakes are reported in a sentence before anything starts. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { probe } from '../local/engine/probe.ts';

export type ExampleOptions<Name extends string> = Readonly<Record<Name, string>> & {
  readonly endpoint: string | undefined;
};

const PROBE_TIMEOUT_MS = 3_000;
const BAD_OPTIONS = 2;

/** Reads the named options with their defaults, plus `--endpoint`, which every example has. */
export async function exampleOptions<Name extends string = never>(
  defaults: Readonly<Record<Name, string>>,
): Promise<ExampleOptions<Name>> {
  const { help, endpoint, ...given } = parsed(defaults);
  if (help === true) {
    const options = Object.entries<string>(defaults).map(([name, text]) => `[--${name} ${text}] `);
    console.log(
      `node ${path.relative('.', process.argv[1] ?? '')} ${options.join('')}[--endpoint <url of a DynamoDB>]`,
    );
    process.exit();
  }
  if (typeof endpoint === 'string') {
    const answer = await probe(endpoint, PROBE_TIMEOUT_MS);
    if (answer.kind === 'silent') refuse(`endpoint ${endpoint} did not answer (${answer.cause}): is it running?`);
    if (answer.kind === 'stranger') refuse(`endpoint ${endpoint} answered (${answer.found}), but not like DynamoDB`);
  }
  return { ...defaults, ...given, endpoint } as ExampleOptions<Name>;
}

function parsed(names: object): Readonly<Record<string, string | boolean | undefined>> {
  const texts = ['endpoint', ...Object.keys(names)].map((name) => [name, { type: 'string' }] as const);
  try {
    return parseArgs({ options: { help: { type: 'boolean' }, ...Object.fromEntries(texts) } }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function refuse(why: string): never {
  console.error(`error: ${why}`);
  process.exit(BAD_OPTIONS);
}
