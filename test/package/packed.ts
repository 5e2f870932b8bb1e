/** The package as users get it: built, packed, and installed into a separate folder. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defined } from '../../shared/core/defined.ts';
import { ROOT } from '../support/documents.ts';

/** Builds the package. @returns the path of the tarball, in a folder that the caller deletes */
export function packPackage(): { readonly tarball: string; readonly folder: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-packed-'));
  run(process.execPath, ['release/build.ts'], { cwd: ROOT });
  const said = run('npm', ['pack', './dist', '--json', '--pack-destination', folder], { cwd: ROOT });
  const [packed] = JSON.parse(said) as [{ readonly filename: string }];
  return { tarball: path.join(folder, packed.filename), folder };
}

/** The project of `npm run test:package`, without its packages. */
export function copyConsumer(project: string): void {
  cpSync(path.join(ROOT, 'release/consumer'), project, { recursive: true });
}

/** The versions of these packages that this repository is tested with: `esbuild@0.28.2`. */
export function pinned(...names: readonly string[]): string[] {
  const text = readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
  const versions = { ...manifest.devDependencies, ...manifest.dependencies };
  return names.map((name) => `${name}@${versions[name] ?? ''}`);
}

interface Where {
  readonly cwd: string;
  /** Goes first on the PATH. */
  readonly bin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** @returns its output. @throws if it fails, with all of its output */
export function run(program: string, args: readonly string[], { cwd, bin, env = {} }: Where): string {
  const { status, said, out } = attempt(program, args, { cwd, env, ...defined({ bin }) });
  if (status !== 0) throw new Error(`${[program, ...args].join(' ')} ended with ${status ?? 'a signal'}:\n${said}`);
  return out;
}

export function attempt(program: string, args: readonly string[], { cwd, bin, env = {} }: Where) {
  // Like a user's terminal: without the variables of the npm and vitest that run this.
  const own = Object.entries(process.env).filter(([name]) => !/^(?:npm_|VITEST|NODE_(?!EXTRA_CA_CERTS))/i.test(name));
  const PATH = [...(bin === undefined ? [] : [bin]), process.env.PATH ?? ''].join(path.delimiter);
  const options = {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env: { ...Object.fromEntries(own), PATH, ...env },
  } as const;
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  return { status, out: stdout, said: `${stdout}${stderr}${error === undefined ? '' : String(error)}` };
}
