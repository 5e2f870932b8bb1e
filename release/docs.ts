/**
 * `npm run docs`: the reference of everything that the package exports, made of its docstrings, in `.leasehold/docs`.
 *
 * A type that an exported thing mentions is exported too, or named below with the reason why not: a warning fails the command.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { Application, LogLevel } from 'typedoc';

const ROOT = path.resolve(import.meta.dirname, '..');
const OUTPUT = path.join(ROOT, '.leasehold/docs');
const { exports } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string>>;
};
const ENTRIES = Object.values(exports);

/** What Leasehold stands on inside: seen where tests and gateways put it together, and no part of what is promised to users. */
const FOUNDATION = [
  ...['LeaseholdFoundation', 'LeaseholdSettings', 'DynamoConnection', 'Runtime', 'Sender', 'SkewGauge'],
  ...['SessionLocks', 'Settle', 'WorkerSettings'],
];
/** What a Lambda is given, as far as we read it: the types of AWS fit. */
const PLATFORM = ['Context'];
/** Parts of types that are described where they are used. */
const PARTS = ['StandardIssue', 'UnitAnyCase'];
/** Requests as an observer of the sender sees them. */
const REQUESTS = ['Statement', 'Reply', 'DynamoFault'];

new Command('npm run docs').description('Makes the reference of all exports, in .leasehold/docs.').parse();
const application = await Application.bootstrap({
  name: 'Leasehold',
  entryPoints: ENTRIES.map((entry) => path.join(ROOT, entry)),
  tsconfig: path.join(ROOT, 'tsconfig.build.json'),
  readme: 'none',
  out: OUTPUT,
  // `npm run check` has the compiler's word on the whole tree.
  skipErrorChecking: true,
  disableGit: true,
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  intentionallyNotExported: [...FOUNDATION, ...PLATFORM, ...PARTS, ...REQUESTS],
  treatWarningsAsErrors: true,
  logLevel: LogLevel.Warn,
});
const project = await application.convert();
if (project === undefined) throw new Error('nothing was written: correct what the compiler reports');
application.validate(project);
await application.generateOutputs(project);
if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exitCode = 1;
else console.log(`${path.relative(ROOT, OUTPUT)}/index.html describes what ${ENTRIES.length} entry points export`);
