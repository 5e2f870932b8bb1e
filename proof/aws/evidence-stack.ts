/** The stack of one run, by the CDK's command and CloudFormation's own deletion. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { cdk, runNode } from '../../test/support/cdk-command.ts';
import type { Caller } from './account.ts';
import { deleteStack, stacksNamed } from './account.ts';
import type { Outputs } from './settings.ts';
import type { StackPorts } from './with-stack.ts';

const POLL_MS = 3_000;
/** A request of a deployment that was killed may arrive after the stack was found to be gone. */
const LATE_MS = 10_000;
const REMOVED_WITHIN_MS = 15 * 60_000;

interface StackOptions {
  readonly name: string;
  readonly account: string;
  readonly region: string;
  /** Returns the current credentials, because a profile may renew them during a run. */
  readonly caller: () => Promise<Caller>;
  /** For the CDK's command. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly remedy: string;
  readonly pollMs?: number;
}

export class EvidenceStack implements StackPorts, Disposable {
  readonly remedy: string;
  readonly #options: StackOptions;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'leasehold-evidence-'));
  #wasKilled = false;

  constructor(options: StackOptions) {
    this.#options = options;
    this.remedy = options.remedy;
  }

  async deploy(signal: AbortSignal): Promise<void> {
    const { name, account, region, environment } = this.#options;
    const assembly = path.join(this.#folder, 'cdk.out');
    const app = path.join(import.meta.dirname, 'stack.ts');
    const { code, said } = await runNode(environment, [app, assembly, name, account, region], signal);
    signal.throwIfAborted();
    if (code !== 0) throw new Error(`the app of the evidence ended with ${code}:\n${said}`);
    const options = ['--require-approval', 'never', '--progress', 'events', '--outputs-file', this.#outputsFile];
    try {
      await cdk(environment, ['deploy', name, '--app', assembly, ...options], signal);
    } catch (error) {
      this.#wasKilled = true;
      throw error;
    }
  }

  outputs(): Outputs {
    const all = JSON.parse(readFileSync(this.#outputsFile, 'utf8')) as Readonly<Record<string, Outputs>>;
    const own = all[this.#options.name];
    if (own === undefined) throw new Error(`${this.#outputsFile} says nothing about ${this.#options.name}`);
    return own;
  }

  async destroy(): Promise<void> {
    const { name, caller, pollMs = POLL_MS } = this.#options;
    await removeStack(caller, name, pollMs);
    if (!this.#wasKilled) return;
    await wait(LATE_MS);
    await removeStack(caller, name, pollMs);
  }

  get #outputsFile(): string {
    return path.join(this.#folder, 'outputs.json');
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits until the stack is gone. @throws Error when its deletion fails or takes a quarter of an hour */
export async function removeStack(caller: () => Promise<Caller>, name: string, pollMs = POLL_MS): Promise<void> {
  const until = performance.now() + REMOVED_WITHIN_MS;
  let asked = false;
  while (performance.now() < until) {
    const [found] = await stacksNamed(await caller(), name);
    if (found === undefined) return;
    if (found.status === 'DELETE_FAILED' && asked) throw new Error(`${name} is in DELETE_FAILED`);
    if (!asked || found.status !== 'DELETE_IN_PROGRESS') await deleteStack(await caller(), name);
    asked = true;
    await wait(pollMs);
  }
  throw new Error(`${name} was still there after a quarter of an hour`);
}
