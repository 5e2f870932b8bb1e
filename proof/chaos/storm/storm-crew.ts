/** The workers of the storm, as processes that are killed, frozen and stopped, and started again. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Clock } from '../../../shared/core/runtime/clock.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';

const PROGRAM = path.join(import.meta.dirname, 'storm-worker.ts');
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', AWS_REGION: 'us-east-1' };
/** A worker lives about as long. */
const LIFE_MS = 20_000;

export class StormCrew {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #workers: ChildProcess[] = [];
  readonly faults = { killed: 0, stopped: 0, frozen: 0 };
  #isOver = false;

  constructor(endpoint: string, clock: Clock, size: number) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    for (let place = 0; place < size; place++) this.#start(place);
  }

  /** One fault after the other, until `signal` aborts. */
  async torment(prng: Prng, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep((2 * prng.next() * LIFE_MS) / this.#workers.length, signal);
      const worker = prng.pick(this.#workers);
      const way = prng.next();
      if (way < 0.5) {
        this.faults.killed++;
        worker.kill('SIGKILL');
      } else if (way < 0.7) {
        this.faults.stopped++;
        worker.kill('SIGTERM');
      } else {
        this.faults.frozen++;
        worker.kill('SIGSTOP');
        const thawsAfterMs = prng.between(300, 8_000);
        void this.#clock.sleep(thawsAfterMs).then(() => worker.kill('SIGCONT'));
      }
    }
    for (const worker of this.#workers) worker.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(
      this.#workers.map(async (worker) => {
        if (worker.exitCode !== null || worker.signalCode !== null) return;
        const gone = once(worker, 'exit');
        worker.kill('SIGKILL');
        await gone;
      }),
    );
  }

  #start(place: number): void {
    const env = { ...process.env, ...CREDENTIALS };
    const worker = spawn(process.execPath, ['--no-warnings', PROGRAM, this.#endpoint], { env, stdio: 'ignore' });
    this.#workers[place] = worker;
    worker.once('exit', () => {
      if (!this.#isOver) this.#start(place);
    });
  }
}
