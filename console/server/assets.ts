/**
 * The page's own files, as they lie in `page/`: plain modules and styles, which no build touches.
 * A browser keeps them and asks whether they have changed; a tunnel carries them compressed, at a third of their size.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { packageFile } from '../../shared/core/package-files.ts';

interface Asset {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly compressed: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

const FOLDER = packageFile('console/page');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** All assets by path, read once. Other paths are not served. */
export async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const entries = await readdir(FOLDER, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && path.extname(entry.name) in TYPES);
  return new Map(
    await Promise.all(
      files.map(async (file) => {
        const full = path.join(file.parentPath, file.name);
        const name = path.relative(FOLDER, full).split(path.sep).join('/');
        const body = new Uint8Array(await readFile(full));
        const headers = {
          'Content-Type': TYPES[path.extname(file.name)] ?? '',
          'Cache-Control': 'no-cache',
          ETag: `"${createHash('sha256').update(body).digest('base64url')}"`,
          Vary: 'Accept-Encoding',
        };
        return [name, { body, compressed: new Uint8Array(gzipSync(body)), headers }] as const;
      }),
    ),
  );
}

/** Answers with the file, or that the browser has it already. */
export function answerWith({ body, compressed, headers }: Asset, request: Request): Response {
  if (request.headers.get('if-none-match') === headers.ETag) return new Response(null, { status: 304, headers });
  const takesGzip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
  return takesGzip
    ? new Response(compressed, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
    : new Response(body, { headers });
}
