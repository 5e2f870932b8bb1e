/** Other versions of Node from the npm registry: packages that contain only the program. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

export interface FoundNode {
  /** `22.18.0` */
  readonly version: string;
  /** Holds `node`; it goes first on a PATH. */
  readonly folder: string;
}

/** The newest Node of a line, such as `20` or `22.12`; installed once, and then taken from `.leasehold/`. */
export function nodeFromNpm(line: string): FoundNode {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = path.join(ROOT, '.leasehold', 'node', line);
  mkdirSync(prefix, { recursive: true });
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', prefix];
  execFileSync('npm', ['install', ...options, `${name}@${line}`], { cwd: prefix, stdio: ['ignore', 'ignore', 'pipe'] });
  const folder = path.join(prefix, 'node_modules', name, 'bin');
  return { version: versionOf(path.join(folder, 'node'), process.env), folder };
}

export function versionOf(node: string, env: NodeJS.ProcessEnv): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8', env }).trim().replace(/^v/, '');
}

/** Whether a version is `22.18` or later, for instance. */
export function isAtLeast(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
