/** The state of each worker from its own log and the platform's events: for the display, never for the verdict. */
import type { LambdaEvent } from '../platform/lambda/events.ts';
import { WORK_FUNCTION } from '../platform/platform.ts';

export interface WorkerView {
  readonly environmentId: string;
  state: 'starting' | 'working' | 'frozen' | 'killed' | 'ended';
  session: string | undefined;
  /** Its running tasks with their lease counters, oldest first. */
  readonly running: Map<string, number>;
  settled: number;
  lastHeartbeatAt: number | undefined;
  writeUnits: number;
  readUnits: number;
}

/** A line of the workers' structured log, as far as it is read here. */
interface LogLine {
  readonly message?: string;
  readonly session?: string;
  readonly task?: string;
  readonly leaseCounter?: number;
  readonly writeUnits?: number;
  readonly readUnits?: number;
  readonly capacity?: { readonly writeUnits: number; readonly readUnits: number };
  readonly report?: { readonly claimsRefused?: number; readonly duplicate?: boolean };
}

export interface TakeOver {
  readonly task: string;
  readonly at: number;
}

export class FleetView {
  readonly workers = new Map<string, WorkerView>();
  readonly takeOvers: TakeOver[] = [];
  claimsRefused = 0;
  duplicateTicks = 0;
  /** Units reported by invocations, and by killed workers until their death. */
  writeUnits = 0;
  readUnits = 0;
  readonly #failures = new Set<string>();
  readonly #untold: string[] = [];

  /** Returns new reasons for failed invocations of any function, each once. */
  takeFailures(): string[] {
    return this.#untold.splice(0);
  }

  onEvent(event: LambdaEvent, now: number): void {
    if (event.type === 'invocationEnded' && (event.outcome === 'error' || event.outcome === 'initError'))
      this.#onFailure(`${event.functionName}: ${event.error?.errorMessage ?? event.outcome}`);
    if (event.type === 'log') this.#onLog(event.environmentId, event.functionName, event.line, now);
    if (!('functionName' in event) || event.functionName !== WORK_FUNCTION || !('environmentId' in event)) return;
    const worker = this.#worker(event.environmentId);
    if (event.type === 'invocationStarted') this.#begin(event.environmentId);
    if (event.type === 'environmentFrozen' && event.requestId !== undefined) worker.state = 'frozen';
    if (event.type === 'environmentThawed') worker.state = 'working';
    if (event.type === 'environmentKilled') worker.state = event.requestId === undefined ? 'ended' : 'killed';
    if (event.type === 'invocationEnded') this.#end(worker, event.outcome === 'success');
  }

  #onFailure(reason: string): void {
    if (!this.#failures.has(reason)) this.#untold.push(reason);
    this.#failures.add(reason);
  }

  #worker(id: string): WorkerView {
    const known = this.workers.get(id);
    return known ?? this.#begin(id);
  }

  #begin(id: string): WorkerView {
    const before = this.workers.get(id);
    const fresh: WorkerView = {
      environmentId: id,
      state: 'starting',
      session: undefined,
      running: new Map(),
      settled: before?.settled ?? 0,
      lastHeartbeatAt: undefined,
      writeUnits: 0,
      readUnits: 0,
    };
    this.workers.set(id, fresh);
    return fresh;
  }

  #end(worker: WorkerView, reported: boolean): void {
    if (worker.state !== 'killed') worker.state = 'ended';
    // A worker that answered has reported its units in its last line; of one that died, the last heartbeat is what we know.
    if (!reported) {
      this.writeUnits += worker.writeUnits;
      this.readUnits += worker.readUnits;
    }
  }

  #onLog(environmentId: string, functionName: string, line: string, now: number): void {
    const log = parseLog(line);
    if (log?.message === undefined) return;
    if (functionName === WORK_FUNCTION) this.#onWorkerLog(this.#worker(environmentId), log, now);
    if (log.message === 'tick dispatched' && log.report?.duplicate === true) this.duplicateTicks++;
    if (log.capacity !== undefined) {
      this.writeUnits += log.capacity.writeUnits;
      this.readUnits += log.capacity.readUnits;
    }
  }

  #onWorkerLog(worker: WorkerView, log: LogLine, now: number): void {
    switch (log.message) {
      case 'worker started':
        worker.state = 'working';
        worker.session = log.session;
        worker.lastHeartbeatAt = now;
        break;
      case 'session renewed':
        worker.lastHeartbeatAt = now;
        worker.writeUnits = log.writeUnits ?? 0;
        worker.readUnits = log.readUnits ?? 0;
        break;
      case 'task claimed':
      case 'task taken over from a dead worker':
        if (log.task === undefined) break;
        worker.running.set(log.task, log.leaseCounter ?? 0);
        if (log.message !== 'task claimed') this.takeOvers.push({ task: log.task, at: now });
        break;
      case 'task settled':
        if (log.task !== undefined) worker.running.delete(log.task);
        worker.settled++;
        break;
      case 'worker ended':
        this.claimsRefused += log.report?.claimsRefused ?? 0;
        break;
      case undefined:
      default:
        // Other lines are for display only.
        break;
    }
  }
}

function parseLog(line: string): LogLine | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    // Task code may print what it likes.
    return undefined;
  }
}
