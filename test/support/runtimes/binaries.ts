/**
 * Programs of other runtimes, for the tests that run in them: one package each, of one version, from npm into `.leasehold/runtimes`.
 * They are no dependencies of the project, for each has a hundred megabytes: they are fetched by the first run that wants them.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '../../../shared/core/errors.ts';
import { ROOT } from '../documents.ts';

type RuntimeName = 'workerd' | 'bun';

type Binary =
  | { readonly kind: 'there'; readonly path: string }
  /** In a sentence. */
  | { readonly kind: 'missing'; readonly why: string };

interface Source {
  readonly version: string;
  /** By platform and processor. */
  readonly packages: Readonly<Record<string, string>>;
  readonly program: string;
}

const SOURCES: Readonly<Record<RuntimeName, Source>> = {
  // The one inside of miniflare 4.20260730.0, which would bring fifty megabytes more and start the same program.
  workerd: {
    version: '1.20260730.1',
    packages: {
      'linux-x64': '@cloudflare/workerd-linux-64',
      'linux-arm64': '@cloudflare/workerd-linux-arm64',
      'darwin-x64': '@cloudflare/workerd-darwin-64',
      'darwin-arm64': '@cloudflare/workerd-darwin-arm64',
    },
    program: 'bin/workerd',
  },
  bun: {
    version: '1.4.5',
    packages: {
      'linux-x64': '@oven/bun-linux-x64',
      'linux-arm64': '@oven/bun-linux-aarch64',
      'darwin-x64': '@oven/bun-darwin-x64',
      'darwin-arm64': '@oven/bun-darwin-aarch64',
    },
    program: 'bin/bun',
  },
};

/** A registry that answers neither yes nor no must not hold up the tests. */
const GIVE_UP_AFTER_MS = 240_000;

/** The program, fetched if it is not there yet. */
export async function binaryOf(name: RuntimeName): Promise<Binary> {
  const { version, packages, program } = SOURCES[name];
  const packageName = packages[`${process.platform}-${process.arch}`];
  if (packageName === undefined)
    return missing(name, `there is no build of it for ${process.platform} on ${process.arch}`);
  const folder = path.join(ROOT, '.leasehold', 'runtimes', `${name}-${version}`);
  const file = path.join(folder, 'node_modules', packageName, program);
  try {
    if (!existsSync(file)) await install(folder, `${packageName}@${version}`);
  } catch (error) {
    return missing(name, `${packageName} ${version} could not be installed from npm: ${firstLine(error)}`);
  }
  try {
    await run(file, ['--version']);
  } catch (error) {
    return missing(name, `${file} does not run on this machine: ${firstLine(error)}`);
  }
  return { kind: 'there', path: file };
}

/** Beside its place, and then moved there: a folder that is there is whole, whatever other runs do. */
async function install(folder: string, what: string): Promise<void> {
  mkdirSync(path.dirname(folder), { recursive: true });
  const scratch = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(path.join(scratch, 'package.json'), '{ "private": true }');
    const options = [
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--no-package-lock',
      '--fetch-retries=1',
      '--loglevel=error',
    ];
    await run('npm', ['install', what, ...options, '--prefix', scratch], scratch);
    rmSync(folder, { recursive: true, force: true });
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[], cwd = ROOT): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, timeout: GIVE_UP_AFTER_MS }, (error, _, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.trim() === '' ? error.message : stderr.trim(), { cause: error }));
    });
  });
}

function missing(name: RuntimeName, why: string): Binary {
  return { kind: 'missing', why: `Skipped: the tests in ${name}, because ${why}` };
}

function firstLine(error: unknown): string {
  return (
    messageOf(error)
      .split('\n')
      .find((line) => !line.startsWith('npm warn')) ?? ''
  );
}
