import { readFileSync } from 'node:fs';
import { packageFile } from '../shared/core/package-files.ts';

/** Returns the version in the package's manifest. */
export function ownVersion(): string {
  const manifest = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
