/**
 * `npm run build`: makes the package in `dist/`: compiled modules, their types, and a separate package.json.
 *
 * The repository runs its TypeScript directly; the package is compiled, because Node does not strip types inside node_modules.
 * Most modules are joined into a few chunks, because Node takes 0.5 ms to find and read each file. All entries share the chunks:
 * each class exists once, so `instanceof` holds for a class from any entry.
 * The published package depends on the repository's own `dependencies`, so scanners and `npm audit` see them.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { Command } from 'commander';
import type { OutputChunk } from 'rolldown';
import { rolldown } from 'rolldown';
import { OLDEST_CDK } from '../infra/cdk-version.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const DIST = path.join(ROOT, 'dist');
/** An application that uses `leasehold/cdk`, `leasehold/s3` or `leasehold/durable` has them already. The CDK calls esbuild as a program. */
const OPTIONAL_PEERS: Readonly<Record<string, string>> = {
  '@aws-sdk/client-s3': '^3.1162.0',
  '@aws/durable-execution-sdk-js': '>=2.4.0 <3',
  // Never imported: its API object is global, so every copy finds what a process registers.
  '@opentelemetry/api': '^1.3.0',
  // The types of middy need the types of Lambda.
  '@types/aws-lambda': '^8.10.0',
  'aws-cdk-lib': `^${OLDEST_CDK}`,
  constructs: '^10.0.5',
  esbuild: '>=0.25.0',
};
/** For users, and for alarms, whose descriptions name sections of these. Texts for contributors stay in the repository. */
const DOCUMENTS = [
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'],
  ...['docs', 'console/README.md', 'consul/README.md', 'examples/README.md'],
];
/** `from 'x'` and `import('x')` in declarations. */
const IMPORT = /(?:^|[\s;}])(?:from|import)\s*\(?(['"])([^'".][^'"]*)\1/g;
/** The same for our own modules. */
const LOCAL_IMPORT = /(?:^|[\s;}])(?:from|import)\s*\(?(['"])(\.{1,2}\/[^'"]+)\1/g;
/** Programs that other processes load by their path. A satellite may be deleted. */
const PROGRAMS = [
  ...['functions/dispatch', 'functions/work', 'functions/wake', 'infra/source-map'],
  ...['api/command', 'cli/dev/worker', 'cli/dev/block-watch'],
  ...['consul/lambda/handler'].filter((program) => existsSync(sourceOf(program))),
];
/** Files that modules of the console read at run time. */
const PAGE = 'console/page';
/** Files that `leasehold init` writes. */
const PROJECT = 'examples/project';
/**
 * Chunks: each holds the modules that all of these entries need. A module goes into the first chunk that fits.
 * `core` is separate from `client`, because isolates lack Node's modules. The command answers `--version` with `start` and `errors` alone.
 */
const CHUNKS: Readonly<Record<string, readonly string[]>> = {
  errors: ['api/command', 'api/edge'],
  start: ['api/command'],
  tasks: ['api/tasks', 'api/edge'],
  core: ['api/edge', 'api/index'],
  client: ['api/index'],
  worker: ['api/worker'],
  middy: ['api/middy'],
  testing: ['api/testing'],
};

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

new Command('npm run build').description('Makes the package in dist/.').parse();
rmSync(DIST, { recursive: true, force: true });
// The compiler has said what is wrong.
if (!declares()) process.exit(1);
for (const file of globSync('**/*.d.ts', { cwd: DIST })) nameCompiledModules(path.join(DIST, file));
const ours = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Manifest;
keepReachableDeclarations(Object.values(ours.exports).map(moduleOf));
const compiled = await bundle([...Object.values(ours.exports).map(moduleOf), ...PROGRAMS]);
assertNamed(compiled);
if (existsSync(path.join(ROOT, PAGE))) {
  cpSync(path.join(ROOT, PAGE), path.join(DIST, PAGE), { recursive: true });
  rmSync(path.join(DIST, PAGE, 'tsconfig.json'), { force: true });
}
cpSync(path.join(ROOT, PROJECT), path.join(DIST, PROJECT), { recursive: true });
assertDeclared(ours, compiled);
chmodSync(path.join(DIST, 'api/command.js'), 0o755);
const manifest = publishedManifest(ours);
writeFileSync(path.join(DIST, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
for (const document of DOCUMENTS)
  if (existsSync(path.join(ROOT, document)))
    cpSync(path.join(ROOT, document), path.join(DIST, document), { recursive: true });
// A fifth of the package otherwise, and no alarm names them.
for (const own of ['pictures', 'decisions.md', 'glossary.md'])
  rmSync(path.join(DIST, 'docs', own), { recursive: true, force: true });
console.log(`dist/ holds the package ${manifest.name}@${manifest.version}`);

/** Writes the declarations of all modules. */
function declares(): boolean {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return status === 0;
}

/** The compiler leaves the imports of declarations as they are. */
function nameCompiledModules(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/((?:from |import\()['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'));
}

/** Removes the declarations that the entries' declarations do not import, because users cannot import them. */
function keepReachableDeclarations(entries: readonly string[]): void {
  const found = new Set(entries.map((entry) => path.join(DIST, `${entry}.d.ts`)));
  for (const file of found)
    for (const [, , module = ''] of readFileSync(file, 'utf8').matchAll(LOCAL_IMPORT)) {
      const other = path.resolve(path.dirname(file), module.replace(/\.js$/, '.d.ts'));
      // An example in a comment may import a missing module.
      if (existsSync(other)) found.add(other);
    }
  for (const file of globSync('**/*.d.ts', { cwd: DIST }))
    if (!found.has(path.join(DIST, file))) rmSync(path.join(DIST, file));
}

/** Writes the compiled entries, their chunks and source maps. Other packages stay imports, and late imports stay late. */
async function bundle(entries: readonly string[]): Promise<readonly OutputChunk[]> {
  const imported = new Map<string, readonly string[]>();
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(entries.map((entry) => [entry, sourceOf(entry)])),
    platform: 'neutral',
    transform: { target: 'es2024' },
    external: (specifier) => !isOurs(specifier),
    treeshake: { moduleSideEffects: 'no-external' },
    preserveEntrySignatures: 'strict',
    plugins: [
      {
        name: 'imports',
        moduleParsed: ({ id, importedIds }) =>
          void imported.set(
            id,
            importedIds.filter((other) => path.isAbsolute(other)),
          ),
      },
    ],
  });
  const neededBy = once((entry: string) => closure(sourceOf(entry), imported));
  const files = new Set(entries.map(sourceOf));
  const { output } = await build.write({
    dir: DIST,
    sourcemap: true,
    // The repository has their text, and half of the package would be that.
    sourcemapExcludeSources: true,
    // As if the sources lay in the package.
    sourcemapPathTransform: (source) => source.replace('../', ''),
    comments: false,
    minifyInternalExports: false,
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: {
      groups: Object.entries(CHUNKS).map(([name, owners], index) => ({
        name,
        priority: Object.keys(CHUNKS).length - index,
        test: (id) => !files.has(id) && owners.every((entry) => neededBy(entry).has(id)),
      })),
    },
  });
  const chunks = output.filter((file) => file.type === 'chunk');
  for (const { fileName, moduleIds } of chunks) if (moduleIds.every(isOfCommand)) dropMap(path.join(DIST, fileName));
  return chunks;
}

/** Of the command and its console: no code of a user has their frames in a stack. */
function isOfCommand(module: string): boolean {
  return /^(?:cli|console)\//.test(path.relative(ROOT, module));
}

function dropMap(file: string): void {
  rmSync(`${file}.map`, { force: true });
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n'));
}

/** Modules of the repository, and the bundler's own code for `using`, which Node 22 lacks. */
function isOurs(specifier: string): boolean {
  return specifier.startsWith('.') || path.isAbsolute(specifier) || specifier.startsWith('@oxc-project/runtime/');
}

/** Returns a module and our own modules that it imports statically, however indirectly. */
function closure(module: string, imported: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set([module]);
  for (const id of found) for (const other of imported.get(id) ?? []) found.add(other);
  return found;
}

function once<Value>(make: (key: string) => Value): (key: string) => Value {
  const made = new Map<string, Value>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}

function sourceOf(module: string): string {
  return path.join(ROOT, `${module}.ts`);
}

/** `api/index` of `./api/index.ts`. */
function moduleOf(source: string): string {
  return path.normalize(source).replace(/\.ts$/, '');
}

/** Fails if a chunk has two classes of one name: the bundler calls the second `Name$1`, and logs would show that. */
function assertNamed(chunks: readonly OutputChunk[]): void {
  const renamed = chunks.flatMap(({ fileName, code }) =>
    [...code.matchAll(/class (\w+\$\d+)/g)].map(([, name = '']) => `${name} in ${fileName}`),
  );
  if (renamed.length > 0) throw new Error(`classes lose their names: ${renamed.join(', ')}`);
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
    // The same as `OLDEST_NODE` in shared/core/environment.ts, which reports it to users who overlook it.
    engines: { node: '>=22.12' },
    bin: { leasehold: './api/command.js' },
    exports: {
      ...Object.fromEntries(
        Object.entries(ours.exports).map(([entry, source]) => [entry, compiledEntry(`./${moduleOf(source)}`)]),
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

/** The modules of other packages that a declaration imports. */
function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)].map(([, , specifier = '']) => specifier);
}

function isOfNode(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(packageOf(specifier));
}

/** Fails if a module or a declaration names a package that is neither a dependency nor a peer. */
function assertDeclared(ours: Manifest, compiled: readonly OutputChunk[]): void {
  const declared = ['leasehold', ...Object.keys(ours.dependencies), ...Object.keys(OPTIONAL_PEERS)];
  const known = (specifier: string): boolean =>
    [packageOf(specifier), `@types/${packageOf(specifier)}`].some((name) => declared.includes(name));
  const files = new Set(compiled.map(({ fileName }) => fileName));
  const ofCode = compiled.flatMap(({ fileName, imports, dynamicImports }) =>
    [...imports, ...dynamicImports].filter((other) => !files.has(other)).map((other) => ({ fileName, other })),
  );
  const ofTypes = globSync('**/*.d.ts', { cwd: DIST }).flatMap((fileName) =>
    importsOf(readFileSync(path.join(DIST, fileName), 'utf8')).map((other) => ({ fileName, other })),
  );
  const strangers = [...ofCode, ...ofTypes]
    .filter(({ other }) => !isOfNode(other) && !known(other))
    .map(({ fileName, other }) => `${fileName} imports ${other}`);
  if (strangers.length > 0) throw new Error(`not declared in the package:\n${strangers.join('\n')}`);
}
