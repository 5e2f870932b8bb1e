/** Loads the code with a change in it. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import type { Change } from './change.ts';
import { changed } from './change.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Names the environment variable that has a change as JSON. */
export const CHANGE = 'LEASEHOLD_CHANGE';

export function changeOfEnvironment(): Change | undefined {
  const text = process.env[CHANGE];
  return text === undefined ? undefined : (JSON.parse(text) as Change);
}

/** The source of a file with the change of the environment, if there is one. */
export function changedByEnvironment(): (source: string, file: string) => string {
  const change = changeOfEnvironment();
  return (source, file) => (change === undefined ? source : changed(source, file, change));
}

/** To be called before anything else imports what the change is in. */
export function loadChanged(): void {
  const withChange = changedByEnvironment();
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith('file:') || !loaded.source) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: withChange(text, path.relative(ROOT, fileURLToPath(url))) };
    },
  });
}
