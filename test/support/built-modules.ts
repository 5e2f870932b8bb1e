/** `vitest run --mode built PLACE`: tests of the sources, on the modules that `npm run build` made of them. */
import { existsSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A plugin of vite: an import of a source module that is part of the package loads the compiled one. */
export function builtModules() {
  return {
    name: 'built-modules',
    enforce: 'pre' as const,
    resolveId(source: string, importer: string | undefined): string | undefined {
      if (importer === undefined || !source.startsWith('.') || importer.includes('/node_modules/')) return undefined;
      const wanted = path.relative(ROOT, path.resolve(path.dirname(importer), source));
      const built = path.join(ROOT, 'dist', wanted.replace(/\.ts$/, '.js'));
      return wanted.endsWith('.ts') && existsSync(built) ? built : undefined;
    },
  };
}
