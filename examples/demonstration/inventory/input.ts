/** The input of the inventory: what the package manager says is installed. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigurationError } from 'leasehold';

/** The places of all installed packages, from the lock file that npm keeps of what is really there. */
export function installedPackages(root: string): string[] {
  const file = path.join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(file)) throw new ConfigurationError(`${file} is not there: install the packages first (npm ci)`);
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, { link?: boolean }> };
  return Object.entries(packages).flatMap(([place, { link }]) => (link === true || place === '' ? [] : [place]));
}
