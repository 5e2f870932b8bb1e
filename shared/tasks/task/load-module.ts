/** Loads a module that defines tasks by its path. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import { isPackageFile } from '../../core/package-files.ts';
import type { TaskRegistry } from './definition.ts';
import { registerTasks } from './definition.ts';

/** Returns the tasks that a user's module defines. Runs its code. @throws ConfigurationError */
export async function loadTasks(entry: string): Promise<TaskRegistry> {
  return registerTasks(await loadModule(entry));
}

/** Returns the exports of a user's module, by its path. Runs its code. @throws ConfigurationError */
export async function loadModule(entry: string): Promise<Readonly<Record<string, unknown>>> {
  const file = path.resolve(entry);
  if (!existsSync(file))
    throw new ConfigurationError(`there is no ${file}: pass the module that defines the tasks, such as src/tasks.ts`);
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    const hint = readsTypeScript()
      ? moduleTypeHint(file, cause)
      : `; Node ${process.versions.node} cannot load .ts files: use Node 22.18 or later, or compile the module`;
    const what = `${messageOf(cause)}${placeOf(cause)}${hint}`;
    throw new ConfigurationError(`the module of tasks ${entry} cannot be loaded: ${what}`, { cause });
  }
}

/** Returns the error's position in the user's code, which messages of Node and of Leasehold do not contain. */
function placeOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const places = [...stack.matchAll(/(file:\/\/[^\s:]+)((?::\d+){1,2})/g)];
  const place = places.find(([, url = '']) => !url.includes('/node_modules/') && !isPackageFile(fileURLToPath(url)));
  if (place === undefined) return '';
  const [, url = '', line = ''] = place;
  return ` (${path.relative(process.cwd(), fileURLToPath(url))}${line})`;
}

/** `npm init -y` declares CommonJS, where Node rejects `import`. */
function moduleTypeHint(file: string, error: unknown): string {
  const isSyntax = error instanceof SyntaxError && /outside a module|Unexpected token 'export'/.test(error.message);
  const manifest = isSyntax ? manifestAbove(path.dirname(file)) : undefined;
  if (manifest === undefined || !/"type"\s*:\s*"commonjs"/.test(readFileSync(manifest, 'utf8'))) return '';
  const asModule = path.basename(file).replace(/\.([jt])s$/, '.m$1s');
  const found = `${path.relative(process.cwd(), manifest)} says "type": "commonjs"`;
  return `: ${found}; make it "type": "module", or name the module ${asModule}`;
}

function manifestAbove(folder: string): string | undefined {
  const manifest = path.join(folder, 'package.json');
  if (existsSync(manifest)) return manifest;
  const above = path.dirname(folder);
  return above === folder ? undefined : manifestAbove(above);
}

/** `process.features.typescript` is undefined in older versions of Node.js. */
function readsTypeScript(): boolean {
  return Boolean(process.features.typescript);
}
