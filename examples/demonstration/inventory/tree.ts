import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';

export interface TreeDigest {
  readonly files: number;
  readonly bytes: number;
  /** SHA-256 over the sorted relative paths and the SHA-256 of each file. */
  readonly sha256: string;
}

/** Reads every regular file below `root`, except packages nested in its own `node_modules`, which have their own tasks. */
export async function digestTree(root: string, signal: AbortSignal): Promise<TreeDigest> {
  const tree = createHash('sha256');
  let files = 0;
  let bytes = 0;
  for (const file of (await listFiles(root)).sort()) {
    const content = createHash('sha256');
    const stream = createReadStream(file, { signal });
    stream.on('data', (chunk) => {
      bytes += chunk.length;
    });
    await pipeline(stream, content, { signal });
    tree.update(`${path.relative(root, file)}\0${content.digest('hex')}\n`);
    files++;
  }
  return { files, bytes, sha256: tree.digest('hex') };
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const below = entries.map(async (entry) => {
    const here = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFiles(here);
    return entry.isFile() ? [here] : [];
  });
  return (await Promise.all(below)).flat();
}
