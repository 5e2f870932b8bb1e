/** `gather` measures each part of the evidence on a deployed stack. A part that fails records why, and the others continue. */
import { setTimeout as wait } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { Evidence, Measured, PartName } from '../../bench/evidence.ts';
import { PARTS } from '../../bench/evidence.ts';
import { measureUnits } from '../../bench/units.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { messageOf } from '../../shared/core/errors.ts';
import type { Sizes } from './plan.ts';
import { MEASURING_MS } from './plan.ts';
import type { AnswerOf, Measure, ProbeEvent } from './probe.ts';
import type { Outputs } from './settings.ts';
import { SHARDS } from './settings.ts';
import { runWaves } from './waves.ts';
import { unless } from './with-stack.ts';

export interface GatherPorts {
  readonly outputs: Outputs;
  readonly clientConfig: DynamoDBClientConfig;
  readonly sizes: Sizes;
  /** Parts that this platform does not do as AWS does: they run, but their figures are not written. */
  readonly unsupported: ReadonlySet<PartName>;
  readonly say: (line: string) => void;
}

type Parts = Evidence['parts'];
type Part<Name extends PartName> = Parts[Name];

export async function gather(ports: GatherPorts, stop: AbortSignal): Promise<Parts> {
  const { outputs, sizes, unsupported, say } = ports;
  using own = new Connection(ports);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(MEASURING_MS)]);
  const part = async <Name extends PartName>(name: Name, run: () => Promise<Measured<Name>>): Promise<Part<Name>> => {
    const begun = performance.now();
    const outcome = await attempt(name, () => unless(signal, run()));
    stop.throwIfAborted();
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    const why = outcome.status === 'failed' ? `: ${outcome.why}` : '';
    if (!unsupported.has(name)) {
      say(`${name}: ${outcome.status}, ${seconds} s${why}`);
      return outcome;
    }
    say(`${name}: unsupported here; rehearsal ${outcome.status}, ${seconds} s${why}`);
    return { status: 'unsupported', why: 'this platform does not do as AWS does' } as Part<Name>;
  };
  const probe = <Name extends Measure>(measure: Name, asked: ProbeEvent<Name>['sizes']): Promise<AnswerOf<Name>> =>
    own.invoke(outputs.ProbeName, { measure, sizes: asked }, signal);
  const { indexSamples, streamSamples, coldStarts, warmStarts, requests } = sizes;
  // Nothing else invokes its function, so the other parts run during the freezes.
  const clocks = part('clocks', () => own.clocks(sizes.frozenSeconds, signal));
  // If another part stops first, `clocks` is never awaited, and its rejection must not end the process.
  clocks.catch(() => undefined);
  const starts = await part('starts', () => probe('starts', { cold: coldStarts, warm: warmStarts, holdMs: 3_000 }));
  const stream = await part('stream', () => probe('stream', { samples: streamSamples, pauseMs: 100 }));
  const indexLag = await part('indexLag', () => probe('indexLag', { samples: indexSamples }));
  const copies = await part('copies', () => probe('copies', {}));
  const inFlight = sizes.requestsInFlight;
  const signatures = await part('signatures', () => probe('signatures', { requests, inFlight, rotates: true }));
  const units = await part('units', () => own.units());
  const tasks = await part('tasks', () => own.tasks(signal));
  const rate = { perSecond: sizes.throttledPerSecond, seconds: sizes.throttledSeconds };
  const throttles = await part('throttles', () => probe('throttles', rate));
  return { tasks, indexLag, stream, starts, clocks: await clocks, units, signatures, copies, throttles };
}

async function attempt<Name extends PartName>(name: Name, run: () => Promise<Measured<Name>>): Promise<Part<Name>> {
  try {
    return { status: 'measured', measured: PARTS[name].parse(await run()) } as Part<Name>;
  } catch (error) {
    // Names of resources contain the account's number.
    const why = messageOf(error)
      .replaceAll(/\b\d{12}\b/g, 'ACCOUNT')
      .slice(0, 500);
    return { status: 'failed', why: why === '' ? 'unknown' : why } as Part<Name>;
  }
}

/** This machine's clients. */
class Connection implements Disposable {
  readonly #ports: GatherPorts;
  readonly #lambda: LambdaClient;
  readonly #dynamo: DynamoDBClient;

  constructor(ports: GatherPorts) {
    this.#ports = ports;
    const { clientConfig } = ports;
    this.#lambda = new LambdaClient({ ...(clientConfig as object), maxAttempts: 1 });
    this.#dynamo = new DynamoDBClient(clientConfig);
  }

  /** @throws Error with what the function said when it failed */
  async invoke<Name extends Measure>(
    FunctionName: string,
    event: ProbeEvent<Name>,
    abortSignal: AbortSignal,
  ): Promise<AnswerOf<Name>> {
    const command = new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) });
    const { FunctionError, Payload } = await this.#lambda.send(command, { abortSignal });
    const text = new TextDecoder().decode(Payload);
    if (FunctionError !== undefined) throw new Error(`the probe failed: ${text.slice(0, 400)}`);
    return JSON.parse(text) as AnswerOf<Name>;
  }

  /** Twenty Date headers after each freeze; the first round has none. */
  async clocks(frozenSeconds: readonly number[], signal: AbortSignal): Promise<Measured<'clocks'>> {
    const { FrozenName } = this.#ports.outputs;
    const look = () => this.invoke(FrozenName, { measure: 'dates', sizes: { requests: 20 } }, signal);
    let before = await look();
    const { leastAheadMs, mostAheadMs } = before;
    const fresh = { frozenSeconds: 0, sameEnvironment: true, wallAheadMs: 0, leastAheadMs, mostAheadMs };
    const rounds: Measured<'clocks'>['rounds'] = [fresh];
    for (const seconds of frozenSeconds) {
      await wait(seconds * 1_000, undefined, { signal });
      const now = await look();
      rounds.push({
        frozenSeconds: seconds,
        sameEnvironment: now.environment === before.environment,
        wallAheadMs: now.wallMs - before.wallMs - (now.monotonicMs - before.monotonicMs),
        leastAheadMs: now.leastAheadMs,
        mostAheadMs: now.mostAheadMs,
      });
      before = now;
    }
    return { rounds };
  }

  async units(): Promise<Measured<'units'>> {
    const rows = await measureUnits(this.#dynamo, this.#ports.outputs.TableName);
    return {
      verbs: rows.map(({ verb, requests, writeUnits, readUnits, model }) => ({
        verb,
        requests,
        writes: writeUnits,
        writesByModel: model.write,
        reads: readUnits,
        readsByModel: model.read,
      })),
    };
  }

  async tasks(signal: AbortSignal): Promise<Measured<'tasks'>> {
    const { outputs, clientConfig, sizes } = this.#ports;
    using leasehold = createLeasehold({ table: outputs.TableName, shards: SHARDS, clientConfig });
    return await runWaves({ leasehold, client: this.#dynamo, effects: outputs.EffectsName }, sizes, signal);
  }

  [Symbol.dispose](): void {
    this.#lambda.destroy();
    this.#dynamo.destroy();
  }
}
