/**
 * `npm run build`: makes the package in `dist/`: compiled modules, their types, and a package.json of its own.
 *
 * The repository runs its TypeScript as it is; what is published is compiled, because Node strips no types inside of node_modules.
 * The published package depends on the libraries of the repository's own `dependencies`, so that scanners and `npm audit` see all of them.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { Command } from 'commander';
import { OLDEST_CDK } from '../infra/cdk-version.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');
/** An application that uses `leasehold/cdk` or `leasehold/s3` has them already. The CDK calls esbuild as a program. */
const OPTIONAL_PEERS: Readonly<Record<string, string>> = {
  '@aws-sdk/client-s3': '^3.1162.0',
  // Never imported: what a process registers with it is found where all its copies look.
  '@opentelemetry/api': '^1.3.0',
  // The types of middy ask for those of Lambda.
  '@types/aws-lambda': '^8.10.0',
  'aws-cdk-lib': `^${OLDEST_CDK}`,
  constructs: '^10.0.5',
  esbuild: '>=0.25.0',
};
/** With what is read when an alarm rings: descriptions of alarms and the guides name sections of these. */
const DOCUMENTS = [
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CONTRIBUTING.md'],
  ...['docs', 'consul/README.md', 'examples/README.md', 'bench/README.md'],
];
/** `from 'x'`, `import 'x'` and `import('x')`, in what the compiler writes. */
const IMPORT = /(?:^|[\s;}])(?:from|import)\s*\(?(['"])([^'".][^'"]*)\1/g;

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

new Command('npm run build').description('Makes the package in dist/.').parse();
rmSync(DIST, { recursive: true, force: true });
// The compiler has said what is wrong.
if (!compiles()) process.exit(1);
for (const file of globSync('**/*.d.ts', { cwd: DIST })) nameCompiledModules(path.join(DIST, file));
assertRewritten();
copyAssets();
const ours = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Manifest;
assertDeclared(ours);
chmodSync(path.join(DIST, 'api/command.js'), 0o755);
const manifest = publishedManifest(ours);
writeFileSync(path.join(DIST, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
for (const document of DOCUMENTS)
  if (existsSync(path.join(ROOT, document)))
    cpSync(path.join(ROOT, document), path.join(DIST, document), { recursive: true });
// A fifth of the package otherwise, and no alarm names them.
rmSync(path.join(DIST, 'docs/pictures'), { recursive: true, force: true });
console.log(`dist/ holds the package ${manifest.name}@${manifest.version}: npm pack ./dist`);

function compiles(): boolean {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return status === 0;
}

/** The compiler rewrites the imports of modules, and leaves those of declarations as they are. */
function nameCompiledModules(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/((?:from |import\()['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'));
}

/** The compiler leaves a dynamic import as it is in a function that it rewrites for `using`. */
function assertRewritten(): void {
  const left = globSync('**/*.js', { cwd: DIST }).filter((file) =>
    /import\(['"]\.[^'"]*\.ts['"]\)/.test(readFileSync(path.join(DIST, file), 'utf8')),
  );
  if (left.length > 0)
    throw new Error(`imports of sources are left in ${left.join(', ')}: import outside of \`using\``);
}

/** What modules read beside themselves. */
function copyAssets(): void {
  cpSync(path.join(ROOT, 'console/page'), path.join(DIST, 'console/page'), { recursive: true });
  rmSync(path.join(DIST, 'console/page/tsconfig.json'), { force: true });
}

function publishedManifest(ours: Manifest) {
  const { name, version, description, license, keywords, repository, homepage, bugs } = ours as Record<string, string>;
  return {
    name,
    version,
    description,
    license,
    keywords,
    repository,
    homepage,
    bugs,
    type: 'module',
    sideEffects: ours.sideEffects,
    // As `OLDEST_NODE` in shared/core/environment.ts, which says so to those who overlook it.
    engines: { node: '>=22.12' },
    bin: { leasehold: './api/command.js' },
    exports: {
      ...Object.fromEntries(
        Object.entries(ours.exports).map(([entry, source]) => [entry, compiledEntry(source.replace(/\.ts$/, ''))]),
      ),
      './package.json': './package.json',
    },
    dependencies: Object.fromEntries(Object.entries(ours.dependencies).map(([wanted, exact]) => [wanted, `^${exact}`])),
    peerDependencies: OPTIONAL_PEERS,
    peerDependenciesMeta: Object.fromEntries(Object.keys(OPTIONAL_PEERS).map((peer) => [peer, { optional: true }])),
  };
}

function compiledEntry(module: string): { readonly types: string; readonly default: string } {
  return { types: `${module}.d.ts`, default: `${module}.js` };
}

/** The package of a module: `hono` of `hono/cookie`. */
function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** The modules of other packages that a text imports, except Node's own. */
function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)]
    .map(([, , specifier = '']) => specifier)
    .filter((specifier) => !specifier.startsWith('node:') && !builtinModules.includes(packageOf(specifier)));
}

/** Fails if a module or a declaration names a package that is neither a dependency nor a peer. */
function assertDeclared(ours: Manifest): void {
  const declared = ['leasehold', ...Object.keys(ours.dependencies), ...Object.keys(OPTIONAL_PEERS)];
  const known = (specifier: string): boolean =>
    [packageOf(specifier), `@types/${packageOf(specifier)}`].some((name) => declared.includes(name));
  const strangers = globSync(['**/*.js', '**/*.d.ts'], {
    cwd: DIST,
    exclude: ['console/page/**'],
  }).flatMap((file) =>
    importsOf(readFileSync(path.join(DIST, file), 'utf8'))
      .filter((specifier) => !known(specifier))
      .map((specifier) => `${file} imports ${specifier}`),
  );
  if (strangers.length > 0) throw new Error(`not declared in the package:\n${strangers.join('\n')}`);
}
