#!/usr/bin/env node
/** The entry of the `leasehold` command: the only place that reads the process's arguments, environment and streams. */
import { ensureNode } from '../shared/core/environment.ts';
import { messageOf } from '../shared/core/errors.ts';
import { enableCompileCache } from '../cli/compile-cache.ts';
import { ownVersion } from '../cli/version.ts';

try {
  ensureNode();
} catch (error) {
  process.stderr.write(`error: ${messageOf(error)}\n`);
  process.exit(1);
}

// The commonest question of scripts, answered with nothing loaded.
if (process.argv.length === 3 && process.argv[2] === '--version') {
  process.stdout.write(`${ownVersion()}\n`);
  process.exit(0);
}

// Before the rest is loaded, which is why that is imported below.
enableCompileCache(process.env);

// As for most tools, a variable that is empty is none.
for (const [variable, value] of Object.entries(process.env))
  if (variable.startsWith('LEASEHOLD_') && value === '') Reflect.deleteProperty(process.env, variable);

const { openCommandLine } = await import('../cli/command-line.ts');
const { SATELLITES } = await import('./satellites.ts');
const line = openCommandLine({
  environment: process.env,
  stdin: process.stdin,
  out: process.stdout,
  err: process.stderr,
  satellites: SATELLITES,
});
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(line.cannotAnswer(error)));
// Notes are for watching people; the work continues without them.
process.stderr.on('error', () => undefined);
const exitCode = await line.perform(process.argv.slice(2));
// Task code may leave timers and connections behind, and this process does not wait for them. Its output is flushed first.
await Promise.all([process.stdout, process.stderr].map(delivered));
process.exit(exitCode);

/** Resolves as well when its reader has gone. */
function delivered(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write('', () => resolve());
  });
}
