/**
 * All environments of one function: reuses warm ones, starts cold ones, refuses above the concurrency limit.
 */
import type { EnvironmentProcess, Invocation } from './environment-process.ts';
import type { InvocationResult } from './outcomes.ts';

export class Fleet {
  readonly #maxConcurrency: number;
  readonly #start: () => EnvironmentProcess;
  readonly #environments = new Set<EnvironmentProcess>();
  /** Last in, first out, as on AWS: under little load few environments stay warm and the others age out. */
  readonly #idle: EnvironmentProcess[] = [];

  constructor(maxConcurrency: number, start: () => EnvironmentProcess) {
    this.#maxConcurrency = maxConcurrency;
    this.#start = start;
  }

  get environments(): readonly EnvironmentProcess[] {
    return [...this.#environments];
  }

  async invoke(invocation: Invocation): Promise<InvocationResult | 'throttled'> {
    const environment = this.#takeWarm() ?? this.#startCold();
    if (environment === undefined) return 'throttled';
    const result = await environment.invoke(invocation);
    if (environment.isUsable) this.#idle.push(environment);
    return result;
  }

  #takeWarm(): EnvironmentProcess | undefined {
    while (true) {
      const environment = this.#idle.pop();
      if (environment === undefined || environment.isUsable) return environment;
    }
  }

  #startCold(): EnvironmentProcess | undefined {
    // One that was killed keeps its place until its process is gone, so the limit also bounds processes.
    if (this.#environments.size >= this.#maxConcurrency) return undefined;
    const environment = this.#start();
    this.#environments.add(environment);
    void environment.exited.then(() => this.#environments.delete(environment));
    return environment;
  }
}
