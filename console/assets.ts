/** The page's own files, as they lie in `page/`: plain modules and styles, which no build touches. */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Asset {
  readonly type: string;
  readonly body: string;
}

const FOLDER = fileURLToPath(new URL('./page', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** All of them by path, read once: what is not among them is not served, whatever a path says. */
export async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const entries = await readdir(FOLDER, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && path.extname(entry.name) in TYPES);
  return new Map(
    await Promise.all(
      files.map(async (file) => {
        const full = path.join(file.parentPath, file.name);
        const name = path.relative(FOLDER, full).split(path.sep).join('/');
        const type = TYPES[path.extname(file.name)] ?? '';
        return [name, { type, body: await readFile(full, 'utf8') }] as const;
      }),
    ),
  );
}
