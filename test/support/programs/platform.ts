/**
 * A parent with one of everything that must not outlive it: an engine, a frozen environment, a busy one, and a child of that one.
 * Prints the process ids as one line of JSON; then ends as its argument says: `exit`, or whenever it is killed.
 */
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEngine } from '../../../local/engine.ts';
import { LocalLambda } from '../../../examples/platform/lambda/local-lambda.ts';

const handlers = path.join(import.meta.dirname, '../handlers');
const pidFile = path.join(tmpdir(), `leasehold-grandchild-${process.pid}`);
const settings = { timeoutMs: 60_000, memoryMb: 128, environment: { PID_FILE: pidFile } };
const busy = Promise.withResolvers<string>();

const engine = await startEngine({ kind: 'embedded' });
const lambda = new LocalLambda({
  functions: {
    counter: { ...settings, entry: path.join(handlers, 'counter.ts') },
    misbehave: { ...settings, entry: path.join(handlers, 'misbehave.ts') },
  },
  onEvent(event) {
    if (event.type === 'log' && event.line === 'spawned') busy.resolve(readFileSync(pidFile, 'utf8'));
  },
});
await lambda.start();
await lambda.invoke('counter', {});
void lambda.invoke('misbehave', { act: 'spawn', then: 'hang' });
const grandchild = Number(await busy.promise);
rmSync(pidFile);

const environments = lambda.environments().map(({ pid }) => pid);
console.log(JSON.stringify([engine.pid, ...environments, grandchild]));
if (process.argv[2] === 'exit') process.exit();
