/**
 * A proxy to the engine that delays every response, which adds a network's latency to a service as fast as DynamoDB.
 *
 * It is a separate process, so its CPU is not charged to a contestant. All contestants use it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { bindToParent, signalGroup } from '../../local/bind-to-parent.ts';

interface DelayedLine extends AsyncDisposable {
  readonly endpoint: string;
}

/** @param delayMs added to each answer */
export async function openDelayedLine(engine: string, delayMs: number): Promise<DelayedLine> {
  const program = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [program, engine, String(delayMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  bindToParent(child);
  const [endpoint] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    endpoint,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      signalGroup(child, 'SIGKILL');
      await ended;
    },
  };
}

/** Requests pass at once. Answers keep their order, for timers of one length fire in the order in which they were set. */
async function serve(engine: URL, delayMs: number): Promise<void> {
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: engine.hostname, port: Number(engine.port), noDelay: true });
    near.pipe(far);
    far.on('data', (chunk: Buffer) => {
      setTimeout(() => {
        near.write(chunk);
      }, delayMs);
    });
    far.on('close', () => {
      near.destroy();
    });
    near.on('close', () => {
      far.destroy();
    });
    for (const socket of [near, far]) socket.on('error', () => undefined); // Its `close` follows.
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

if (import.meta.main) {
  const [engine = '', delayMs = ''] = process.argv.slice(2);
  await serve(new URL(engine), Number(delayMs));
}
