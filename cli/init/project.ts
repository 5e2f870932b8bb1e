/**
 * The project that `leasehold init` writes: the files of `examples/project`, with the new project's names.
 *
 * Three of the files have `template` in their names here: a package.json would hide ours from the imports in its folder, and npm leaves
 * a .gitignore out of a package.
 */
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { packageFile } from '../../shared/core/package-files.ts';

const TEMPLATE = 'examples/project';
const LEASEHOLD = 'node_modules/leasehold';
export const RUNNERS = ['node', 'vitest'] as const;

export interface Wanted {
  readonly folder: string;
  readonly runner: (typeof RUNNERS)[number];
  readonly origin: Origin;
}

/** Where npm gets Leasehold for the new project. */
export interface Origin {
  /** As in `dependencies`. */
  readonly specifier: string;
  /** Copied into the project. */
  readonly tarball?: string;
}

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * Writes the project into a new folder, or next to what the folder holds.
 * @throws ConfigurationError, before anything is written, if one of its files exists
 */
export function writeProject({ folder, runner, origin }: Wanted): void {
  const files = new Map(templateFiles().map((file) => [nameInProject(file), readFileSync(file, 'utf8')]));
  const existing = [...files.keys()].filter((name) => existsSync(path.join(folder, name)));
  if (existing.length > 0)
    throw new ConfigurationError(`${existing.join(', ')} exists in ${folder}: pass a new folder; nothing was written`);
  const name = packageName(folder);
  const replace = (file: string, from: string, to: string): unknown =>
    files.set(file, files.get(file)?.replace(from, to) ?? '');
  replace('stack.ts', "'Project'", `'${stackName(name)}'`);
  if (runner === 'vitest') replace('test/tasks.test.ts', 'node:test', 'vitest');
  const manifest = JSON.parse(files.get('package.json') ?? '') as Manifest;
  files.set('package.json', `${JSON.stringify(adapted(manifest, { name, runner, origin }), undefined, 2)}\n`);
  for (const [file, text] of files) {
    const target = path.join(folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  if (origin.tarball !== undefined)
    writeFileSync(path.join(folder, path.basename(origin.tarball)), readFileSync(origin.tarball));
}

/**
 * Returns the origin of the installed copy that runs this: a registry, or a tarball or folder on this machine.
 * @param root folder of the package
 * @throws ConfigurationError in a clone, which has no compiled package
 */
export function originOf(root: string): Origin {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly private?: boolean;
  };
  if (manifest.private === true)
    throw new ConfigurationError(
      'init runs from the package, and this is a clone: npm run build && npm pack ./dist, ' +
        `then npx ./leasehold-${manifest.version}.tgz init in the folder of your projects`,
    );
  const modules = path.dirname(root);
  const resolved = resolvedIn(path.join(modules, '.package-lock.json'));
  if (resolved?.startsWith('file:') !== true) return { specifier: `^${manifest.version}` };
  const found = path.resolve(path.dirname(modules), resolved.slice('file:'.length));
  if (statSync(found).isDirectory()) return { specifier: `file:${found}` };
  return { specifier: `file:${path.basename(found)}`, tarball: found };
}

/** Other package managers than npm write no such file. */
function resolvedIn(lock: string): string | undefined {
  if (!existsSync(lock)) return undefined;
  const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly resolved?: string }>>;
  };
  return packages[LEASEHOLD]?.resolved;
}

function templateFiles(): readonly string[] {
  const folder = packageFile(TEMPLATE);
  return globSync('**/*', { cwd: folder })
    .map((file) => path.join(folder, file))
    .filter((file) => statSync(file).isFile());
}

/** `package.json` of `package.template.json`. */
function nameInProject(file: string): string {
  const name = path.relative(packageFile(TEMPLATE), file).replaceAll(path.sep, '/');
  return name.replace('template.git', '.git').replace('.template', '');
}

function adapted(
  { scripts, dependencies, devDependencies, ...rest }: Manifest,
  of: Omit<Wanted, 'folder'> & { readonly name: string },
) {
  const { vitest = '', ...tools } = devDependencies;
  const isVitest = of.runner === 'vitest';
  return {
    ...rest,
    name: of.name,
    scripts: { ...scripts, test: isVitest ? 'vitest run' : scripts.test },
    dependencies: { ...dependencies, leasehold: of.origin.specifier },
    devDependencies: isVitest ? { ...tools, vitest } : tools,
  };
}

/** The folder's name in the letters that npm accepts. npm refuses to install a package into a project of the same name. */
function packageName(folder: string): string {
  const name = path
    .basename(path.resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return name === '' || name === 'leasehold' ? 'my-tasks' : name;
}

/** `MyTasks` of `my-tasks`; a stack's name begins with a letter. */
function stackName(name: string): string {
  const words = name.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('').replace(/^(?=\d)/, 'Stack');
}
