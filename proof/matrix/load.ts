/** Loads the code with a bug in it. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** To be called before anything else imports what the bug changes. */
export function loadWith(changed: (source: string, file: string) => string): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith('file:') || !loaded.source) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: changed(text, path.relative(ROOT, fileURLToPath(url))) };
    },
  });
}
