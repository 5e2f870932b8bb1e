/** Reports each file of the user's code before Node reads it. */
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPackageFile } from '../../shared/core/package-files.ts';

/** Node has it from 22.15 on. */
type RegisterHooks = (typeof module)['registerHooks'] | undefined;

/**
 * @param onFile called with the absolute path of each file outside `node_modules`, even if it does not exist
 * @returns whether imported files are reported: an older Node cannot
 */
export function followLoadedFiles(onFile: (file: string) => void): boolean {
  const registerHooks = module.registerHooks as RegisterHooks;
  if (registerHooks === undefined) return false;
  const told = new Set<string>();
  const tell = (url: string): void => {
    if (!url.startsWith('file:') || url.includes('/node_modules/') || told.has(url)) return;
    told.add(url);
    const file = fileURLToPath(url.replace(/[?#].*$/, ''));
    if (!isPackageFile(file)) onFile(path.resolve(file));
  };
  registerHooks({
    resolve(specifier, context, next) {
      try {
        const found = next(specifier, context);
        tell(found.url);
        return found;
      } catch (error) {
        // A missing file may be the next one to be saved.
        if (/^\.{0,2}\//.test(specifier) && context.parentURL !== undefined)
          tell(new URL(specifier, context.parentURL).href);
        throw error;
      }
    },
  });
  return true;
}
