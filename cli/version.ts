import { readFileSync } from 'node:fs';

/** That of the package, whose manifest lies beside the folder of this file, compiled or not. */
export function ownVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
