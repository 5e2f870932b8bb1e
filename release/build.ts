/**
 * `npm run build`: makes the package in `dist/`: compiled modules, their types, and a package.json of its own.
 *
 * The repository runs its TypeScript as it is; what is published is compiled, because Node strips no types inside of node_modules.
 * The published package asks for AWS's client alone: what else its modules import is inside (`release/inline.ts`).
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { OLDEST_CDK } from '../infra/cdk-version.ts';
import { importsOf, inlineLibraries, keepReachableDeclarations, packageOf } from './inline.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');
/** What an application has beside us: all else is inside the package. */
const DEPENDENCIES = ['@aws-sdk/client-dynamodb', '@aws-sdk/lib-dynamodb'];
/** An application that uses `leasehold/cdk`, `leasehold/s3` or `leasehold/middy` has them already. The CDK calls esbuild as a program. */
const OPTIONAL_PEERS: Readonly<Record<string, string>> = {
  '@aws-sdk/client-s3': '^3.1162.0',
  // middy's own types ask for those of Lambda.
  '@middy/core': '^7.0.0',
  // Never imported: what a process registers with it is found where all its copies look.
  '@opentelemetry/api': '^1.3.0',
  '@types/aws-lambda': '^8.10.0',
  'aws-cdk-lib': `^${OLDEST_CDK}`,
  constructs: '^10.0.5',
  esbuild: '>=0.25.0',
};
/** Loaded from the application, for it is the application that constructs with them; middy is asked for its types alone. */
const PEERS_AT_RUN_TIME = ['@aws-sdk/client-s3', 'aws-cdk-lib', 'constructs', 'esbuild'];
/** With what is read when an alarm rings: descriptions of alarms and the guides name sections of these. */
const DOCUMENTS = [
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CONTRIBUTING.md'],
  ...['docs', 'examples/README.md', 'bench/README.md'],
];

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
const inside = await inlineLibraries(ROOT, DIST, [...DEPENDENCIES, ...PEERS_AT_RUN_TIME]);
keepReachableDeclarations(
  DIST,
  Object.values(ours.exports).map((source) => source.replace(/\.ts$/, '.d.ts')),
);
assertDeclared();
writeInventory(inside.all);
chmodSync(path.join(DIST, 'cli/main.js'), 0o755);
const manifest = publishedManifest(ours);
writeFileSync(path.join(DIST, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
for (const document of DOCUMENTS)
  if (existsSync(path.join(ROOT, document)))
    cpSync(path.join(ROOT, document), path.join(DIST, document), { recursive: true });
// A fifth of the package otherwise, and no alarm names them.
rmSync(path.join(DIST, 'docs/pictures'), { recursive: true, force: true });
console.log(`inside: ${inside.imported.join(', ')}`);
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
  const versions = { ...ours.devDependencies, ...ours.dependencies };
  const ranges = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((wanted) => [wanted, `^${versions[wanted] ?? ''}`]));
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
    bin: { leasehold: './cli/main.js' },
    exports: {
      ...Object.fromEntries(
        Object.entries(ours.exports).map(([entry, source]) => [entry, compiledEntry(source.replace(/\.ts$/, ''))]),
      ),
      './package.json': './package.json',
    },
    dependencies: ranges(DEPENDENCIES),
    peerDependencies: OPTIONAL_PEERS,
    peerDependenciesMeta: Object.fromEntries(Object.keys(OPTIONAL_PEERS).map((peer) => [peer, { optional: true }])),
  };
}

function compiledEntry(module: string): { readonly types: string; readonly default: string } {
  return { types: `${module}.d.ts`, default: `${module}.js` };
}

/**
 * `sbom.cdx.json`: what is in `vendor/`, as tools read it that look for known faults; they see what is installed beside us by themselves.
 * Made by npm from package-lock.json, without what would be another one in each build.
 */
function writeInventory(inside: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    // Not without those of development: npm leaves out what both need.
    ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'library'],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 },
  );
  if (status !== 0) throw new Error(`npm sbom failed:\n${stderr}`);
  const { metadata, serialNumber: _, ...whole } = JSON.parse(stdout) as Inventory;
  const components = whole.components.filter((component) => inside.includes(identityOf(component)));
  const missing = inside.filter((wanted) => !components.some((component) => identityOf(component) === wanted));
  if (missing.length > 0) throw new Error(`inside the package, and not in its inventory: ${missing.join(', ')}`);
  const listed = new Set([metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
  const dependencies = whole.dependencies
    .filter(({ ref }) => listed.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => listed.has(other)) }));
  const component = { ...metadata.component, name: 'leasehold' };
  const inventory = { ...whole, metadata: { component }, components, dependencies };
  writeFileSync(path.join(DIST, 'sbom.cdx.json'), `${JSON.stringify(inventory, undefined, 2)}\n`);
}

interface Inventory {
  readonly serialNumber: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

function identityOf({ name, version }: Component): string {
  return `${name}@${version}`;
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

/** Fails where a module or a declaration names a package that neither comes along nor is a peer. */
function assertDeclared(): void {
  const declared = ['leasehold', ...DEPENDENCIES, ...Object.keys(OPTIONAL_PEERS)];
  const known = (specifier: string): boolean =>
    [packageOf(specifier), `@types/${packageOf(specifier)}`].some((name) => declared.includes(name));
  const strangers = globSync(['**/*.js', '**/*.d.ts'], {
    cwd: DIST,
    exclude: ['console/page/**', 'vendor/**'],
  }).flatMap((file) =>
    importsOf(readFileSync(path.join(DIST, file), 'utf8'))
      .filter((specifier) => !known(specifier))
      .map((specifier) => `${file} imports ${specifier}`),
  );
  if (strangers.length > 0) throw new Error(`not declared in the package:\n${strangers.join('\n')}`);
}
