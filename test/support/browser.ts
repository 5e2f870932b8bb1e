/** A real browser for tests: this machine's Chromium, without a display. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Undefined on a machine without one, which is said. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const candidates = folders.flatMap((folder) => NAMES.map((name) => path.join(folder, name)));
  const found = candidates.find(isExecutable);
  if (found === undefined)
    process.stderr.write(
      'skipping the browser tests: no Chromium was found on the PATH; on Debian: apt-get install chromium\n',
    );
  return found;
}

/** For what hangs, as that of every poll: on a busy machine a browser alone may take most of a minute to start. */
export const PATIENCE_MS = 300_000;

export function launchBrowser(executablePath: string, flags: readonly string[] = []): Promise<Browser> {
  // A container's root has no user namespaces for the sandbox, and we open only our own page.
  return chromium.launch({ executablePath, args: [...QUIET, ...flags], timeout: PATIENCE_MS });
}

/** It talks to nothing but what a test opens. */
const QUIET = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
