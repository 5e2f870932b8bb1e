/**
 * Puts the libraries that the package uses into the package itself, so that it brings nothing but AWS's client with it.
 *
 * Our own modules stay one file each: classes are told apart by `instanceof`, files are found by `import.meta`, and a stack trace
 * names the module that it means. Only libraries are bundled, in one build with shared chunks, so that each is there once.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';

const FOLDER = 'vendor';
/** A CommonJS library inside an ES module may call `require` for Node's own modules. */
const BANNER =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
/** `from 'x'`, `import 'x'` and `import('x')`, in what the compiler writes. */
const IMPORT = /((?:^|[\s;}])(?:from|import)\s*\(?)(['"])([^'".][^'"]*)\2/g;

/** The package of a module: `hono` of `hono/cookie`. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** The modules of other packages that a text imports, Node's own left out. */
export function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)]
    .map(([, , , specifier = '']) => specifier)
    .filter((specifier) => !specifier.startsWith('node:') && !builtinModules.includes(packageOf(specifier)));
}

/**
 * Bundles what the modules in `dist` import and `stays` does not name, and points the imports to it.
 *
 * @returns the packages that are inside now, in order: those that are imported, and those with all that they bring, as `name@version`
 */
export async function inlineLibraries(
  root: string,
  dist: string,
  stays: readonly string[],
): Promise<{ readonly imported: readonly string[]; readonly all: readonly string[] }> {
  const modules = globSync('**/*.js', { cwd: dist, exclude: ['console/page/**'] }).map((file) => path.join(dist, file));
  const inlined = new Set<string>();
  for (const file of modules)
    for (const specifier of importsOf(readFileSync(file, 'utf8')))
      if (!stays.includes(packageOf(specifier))) inlined.add(specifier);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([...inlined].map((specifier) => [nameOf(specifier), specifier])),
    outdir: path.join(dist, FOLDER),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    mainFields: ['module', 'main'],
    external: [...stays],
    banner: { js: BANNER },
    keepNames: true,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  for (const file of modules) {
    const text = readFileSync(file, 'utf8');
    const rewritten = text.replace(IMPORT, (whole, before: string, quote: string, specifier: string) =>
      inlined.has(specifier) ? `${before}${quote}${relative(file, dist, specifier)}${quote}` : whole,
    );
    if (rewritten !== text) writeFileSync(file, rewritten);
  }
  const folders = new Set(Object.keys(metafile.inputs).flatMap((input) => packageFolder(input) ?? []));
  writeFileSync(path.join(dist, 'THIRD-PARTY-NOTICES.md'), notices(root, [...folders].sort()));
  return {
    imported: [...new Set([...inlined].map(packageOf))].sort(),
    all: [...folders].map((folder) => identityOf(path.join(root, folder))).sort(),
  };
}

/** Removes the declarations that no entry leads to: they would name types of packages that are not installed. */
export function keepReachableDeclarations(dist: string, entries: readonly string[]): void {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g)) {
      const target = path.resolve(path.dirname(file), specifier.replace(/\.js$/, '.d.ts'));
      if (existsSync(target)) visit(target);
    }
  };
  for (const entry of entries) visit(path.join(dist, entry));
  for (const file of globSync('**/*.d.ts', { cwd: dist }).map((found) => path.join(dist, found)))
    if (!reached.has(file)) rmSync(file);
}

function nameOf(specifier: string): string {
  return specifier.replace(/^@/, '').replaceAll('/', '-');
}

function relative(from: string, dist: string, specifier: string): string {
  const target = path.join(dist, FOLDER, `${nameOf(specifier)}.js`);
  const way = path.relative(path.dirname(from), target).split(path.sep).join('/');
  return way.startsWith('.') ? way : `./${way}`;
}

function identityOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  return `${name ?? folder}@${version ?? ''}`;
}

/** `node_modules/a` of `node_modules/a/lib/index.js`, the innermost one. */
function packageFolder(input: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

/** Each licence once, below the libraries that it covers. */
function notices(root: string, folders: readonly string[]): string {
  const covered = new Map<string, string[]>();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(
      readFileSync(path.join(root, folder, 'package.json'), 'utf8'),
    ) as Record<string, string>;
    const [file] = globSync('{licen[cs]e,LICEN[CS]E,Licen[cs]e}*', { cwd: path.join(root, folder) });
    const text =
      file === undefined
        ? 'It brings no text of its licence.'
        : readFileSync(path.join(root, folder, file), 'utf8').trim();
    covered.set(text, [
      ...(covered.get(text) ?? []),
      `${name ?? folder} ${version ?? ''} (${license ?? 'no licence named'})`,
    ]);
  }
  return [
    '# Third-party notices',
    '',
    'These libraries are inside the package, in `vendor/`. Their versions are fixed by each release of Leasehold, which updates them;',
    'tools that look for known faults in `node_modules` do not see them.',
    '',
    ...[...covered].map(([text, names]) => `## ${names.join(', ')}\n\n\`\`\`text\n${text}\n\`\`\`\n`),
  ].join('\n');
}
