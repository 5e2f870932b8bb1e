/**
 * `npm run docs`: the reference of everything that the package exports, made of its docstrings, in `.leasehold/docs`.
 * `npm run docs -- --stale` lists rows of the documents' tables whose newest date is more than half a year ago; it fails never.
 *
 * A type that users only meet as a part of another is described by its fields, and not exported (`test/docs/exports.full.test.ts`).
 * A warning fails the command.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { Application, LogLevel } from 'typedoc';

const ROOT = path.resolve(import.meta.dirname, '..');
const OUTPUT = path.join(ROOT, '.leasehold/docs');
const { exports } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string>>;
};
const ENTRIES = Object.values(exports);

const HALF_A_YEAR_MS = 183 * 86_400_000;

const { stale } = new Command('npm run docs --')
  .description('Makes the reference of all exports, in .leasehold/docs.')
  .option('--stale', 'instead, list table rows of the documents that were dated more than half a year ago')
  .parse()
  .opts<{ readonly stale?: boolean }>();
if (stale === true) {
  listStale(new Date(Date.now() - HALF_A_YEAR_MS).toISOString().slice(0, 'yyyy-mm-dd'.length));
  process.exit();
}
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
  validation: { notExported: false, invalidLink: true },
  treatWarningsAsErrors: true,
  logLevel: LogLevel.Warn,
});
const project = await application.convert();
if (project === undefined) throw new Error('nothing was written: correct what the compiler reports');
application.validate(project);
await application.generateOutputs(project);
if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exitCode = 1;
else console.log(`${path.relative(ROOT, OUTPUT)}/index.html describes what ${ENTRIES.length} entry points export`);

/** ISO dates compare as text. */
function listStale(before: string): void {
  const rows = globSync(['*.md', 'docs/*.md', 'bench/*.md'], { cwd: ROOT }).flatMap((file) =>
    readFileSync(path.join(ROOT, file), 'utf8')
      .split('\n')
      .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
      .filter(({ line }) => line.startsWith('|')),
  );
  const dated = rows.flatMap(({ line, place }) => {
    const newest = (line.match(/\b20\d\d-\d\d-\d\d\b/g) ?? []).sort().at(-1);
    return newest === undefined ? [] : [{ newest, place, line }];
  });
  const old = dated.filter(({ newest }) => newest < before);
  for (const { newest, place, line } of old) console.log(`${newest}  ${place}  ${line.slice(0, 80)}`);
  console.log(`${old.length} of ${dated.length} dated rows are from before ${before}`);
}
