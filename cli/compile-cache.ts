/**
 * The folder of the command's compiled code: from the second call on, Node finds every module compiled.
 * Measured: `leasehold --version` in 0.40 s of a core instead of 0.62 s.
 *
 * Node runs the code in this folder without checking its owner, so no other user may write to it. Node's own default, a fixed name in the
 * common temporary folder, would let any user of the machine run code as another user.
 */
import { lstatSync, mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

/** Does nothing if the user has no safe folder. Keeps an existing `NODE_COMPILE_CACHE`. */
export function enableCompileCache({
  NODE_COMPILE_CACHE: given,
  XDG_CACHE_HOME: caches = '',
}: NodeJS.ProcessEnv): void {
  // On Windows the temporary folder is the user's own.
  if (given !== undefined || process.getuid === undefined) {
    module.enableCompileCache();
    return;
  }
  const folder = ownFolder(caches, process.getuid());
  if (folder !== undefined) module.enableCompileCache(folder);
}

function ownFolder(caches: string, user: number): string | undefined {
  try {
    const home = homedir();
    // The specification of XDG: a path that is not absolute is invalid.
    const [base, inside] = path.isAbsolute(caches) ? [caches, []] : [home, ['.cache']];
    if (!isOwn(statSync(base), user)) return undefined;
    let folder = base;
    // Check each level: anyone who may write to one of them could replace what is inside.
    for (const name of [...inside, 'leasehold', 'compiled']) {
      folder = path.join(folder, name);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!isOwn(lstatSync(folder), user)) return undefined;
    }
    return folder;
  } catch {
    return undefined; // Without a home, or where nothing can be written, Node does without.
  }
}

function isOwn({ uid, mode }: { readonly uid: number; readonly mode: number }, user: number): boolean {
  return uid === user && (mode & WRITABLE_BY_OTHERS) === 0;
}

const WRITABLE_BY_OTHERS = 0o022;
