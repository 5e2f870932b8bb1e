/** The input of the inventory: the packages that the package manager lists as installed. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigurationError } from 'leasehold';

/** Returns the paths of all installed packages, from npm's lock file of the installed tree. */
export function installedPackages(root: string): string[] {
  const file = path.join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(file)) throw new ConfigurationError(`${file} is not there: install the packages first (npm ci)`);
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, { link?: boolean }> };
  return Object.entries(packages).flatMap(([place, { link }]) => (link === true || place === '' ? [] : [place]));
}
