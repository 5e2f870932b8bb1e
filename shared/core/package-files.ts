/**
 * Files of this package by their names in the repository.
 *
 * A compiled module may be in a different folder than its source, because the build joins modules. So modules must not locate files
 * relative to themselves.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Returns the absolute path of `name`, such as `console/page`. */
export function packageFile(name: string): string {
  return path.join(packageRoot(import.meta.dirname), name);
}

/** Returns the absolute path of a module by its name without a suffix: a source in the repository, compiled in the package. */
export function packageModule(name: string): string {
  return packageFile(name) + path.extname(import.meta.filename);
}

/** Folders of the package. A test may keep task modules next to them. */
const FOLDERS = ['api', 'chunks', 'cli', 'console', 'consul', 'functions', 'infra', 'local', 'shared', 'node_modules'];

/** Whether an absolute path is a file of Leasehold or of a library beneath it. */
export function isPackageFile(file: string): boolean {
  return FOLDERS.some((folder) => file.startsWith(packageFile(folder) + path.sep));
}

/** The nearest folder with a manifest. */
function packageRoot(folder: string): string {
  if (existsSync(path.join(folder, 'package.json')) || folder === path.dirname(folder)) return folder;
  return packageRoot(path.dirname(folder));
}
