import { readFileSync } from 'node:fs';

/** The package's version. Its manifest lies next to this file's folder, compiled or not. */
export function ownVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
