/** Does to its environment what the event asks for. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

type Act =
  | { readonly act: 'throw' }
  | { readonly act: 'throwText' }
  | { readonly act: 'exit'; readonly code: number }
  | { readonly act: 'killSelf' }
  | { readonly act: 'throwOutside' }
  | { readonly act: 'rejectOutside' }
  | { readonly act: 'hang' }
  | { readonly act: 'answerTooMuch' }
  | { readonly act: 'wait'; readonly ms: number }
  | { readonly act: 'spawn'; readonly then: 'hang' | 'exit' };

class ThumbnailError extends Error {
  override readonly name = 'ThumbnailError';
}

export async function handler(event: Act): Promise<unknown> {
  switch (event.act) {
    case 'throw':
      throw new ThumbnailError('no such picture');
    case 'throwText':
      // oxlint-disable-next-line typescript/only-throw-error -- people do, and Lambda reports it
      throw 'just text';
    case 'exit':
      return process.exit(event.code);
    case 'killSelf':
      return process.kill(process.pid, 'SIGKILL');
    case 'throwOutside':
      setImmediate(() => {
        throw new ThumbnailError('outside of the handler');
      });
      return hang();
    case 'rejectOutside':
      void Promise.reject(new ThumbnailError('nobody listens'));
      return hang();
    case 'hang':
      return hang();
    case 'answerTooMuch':
      return 'x'.repeat(6 * 1024 * 1024);
    case 'wait':
      await sleep(event.ms);
      return { waitedMs: event.ms };
    case 'spawn': {
      const child = spawn('sleep', ['600']);
      writeFileSync(process.env.PID_FILE ?? '', String(child.pid));
      console.log('spawned');
      return event.then === 'exit' ? process.exit(0) : hang();
    }
  }
}

function hang(): Promise<never> {
  console.log('hanging');
  return Promise.withResolvers<never>().promise;
}
