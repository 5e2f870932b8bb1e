import { statSync } from 'node:fs';

/** Distinguishes versions of a file, whether it was saved in place or by renaming another file onto it. */
export function fileVersion(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? 'missing' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}
