/** The context of running task code: the operations of its claim. */
import { ConfigurationError } from '../../core/errors.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { WriteLimits, Stamp } from '../../core/lease/write.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import type { BatchCounts } from '../task/batch.ts';
import { CHILDREN_LIMIT, childrenBatch } from '../task/batch.ts';
import type { CommitOptions, Committed, EachOptions, TaskContext } from '../task/context.ts';
import { boundLog } from '../task/context.ts';
import { CommitRefusedError } from '../task/control.ts';
import { storableJson } from '../task/storable-json.ts';
import { checkedIn, discardPayload } from '../task/payload.ts';
import type { RequestDefaults, TaskRequest } from '../task/task-request.ts';
import { newTaskOf, validRequests } from '../task/task-request.ts';
import { laterBy } from '../../core/validate/moment.ts';
import type { ClaimHolder, SendVerb } from './claim-holder.ts';
import { logMiscount } from './claim-writer.ts';
import { withHolder } from './claim-holder.ts';
import { ensureAwaitable, ensureSpawnable } from '../task/spawning.ts';
import type { AttemptLink } from './attempt-link.ts';
import { linked } from './attempt-link.ts';
import type { EachItems } from './each.ts';
import { barred } from './bar.ts';
import type { GivenOperations } from './given-operations.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { CommitOutcome, NewTask, SequencedStamp, Settled, UserWrite } from '../task/task-store.ts';
import type { Claim, Json, RunningTask, Occurrence, TaskRecord } from '../task/task.ts';
import { PROGRESS_LIMIT_BYTES, RESULT_LIMIT_BYTES, claimOf, describeTask } from '../task/task.ts';
import { ensureWrites, refusalOf } from '../task/user-writes.ts';
import { taskSequencer } from '../task/verify-task.ts';

interface RunContextPorts extends Omit<ClaimHolder, 'task'> {
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  readonly nextSequence: () => number;
  /** Knows which operations the code has not awaited. */
  readonly given: GivenOperations;
  readonly link: AttemptLink;
  readonly items: EachItems;
}

type EachArguments = [items: readonly unknown[], run: (item: never, index: number) => unknown, options?: EachOptions];

const SETTLED: Committed = { kind: 'leasehold.settled' };

/** A plain record, so that task code may destructure it: `({ signal, commit }) => …`. */
export function contextOf(task: RunningTask, children: BatchCounts | undefined, ports: RunContextPorts): TaskContext {
  const verbs = new ClaimVerbs(task, ports);
  const { given } = ports;
  const { id, runId, queue, name, tenant, progress, attempts, leaseCounter, traceparent, schedule } = task;
  const context: TaskContext = {
    id,
    runId,
    queue,
    name,
    tenant,
    progress,
    children,
    traceparent,
    schedule: schedule && occurrenceInDates(schedule),
    attempt: attempts,
    fencingToken: leaseCounter,
    nextSequence: ports.nextSequence,
    sequencer: taskSequencer(task, ports.tasks.table),
    signal: ports.signal,
    log: boundLog(ports.log, { queue, task: id, name, attempt: attempts }),
    remainingMs: ports.remainingMs,
    saveProgress: (value) => given.give(verbs.saveProgress(value)),
    each: ((items, run, options) => given.give(verbs.each(items, run as never, options))) as TaskContext['each'],
    commit: (result, writes, options) => given.give(verbs.commit(result, writes, options)),
    snooze: (delay) => given.give(verbs.snooze(delay)),
    waitFor: (requests) => given.give(verbs.waitFor(requests)),
  };
  return linked(withHolder(context, { ...ports, task }), ports.link);
}

function occurrenceInDates({ name, at, since }: Occurrence): TaskContext['schedule'] {
  return { name, at: new Date(at), since: since === undefined ? undefined : new Date(since) };
}

class ClaimVerbs {
  readonly #claim: Claim;
  readonly #inherited: Pick<RequestDefaults, 'traceparent' | 'tenant'>;
  readonly #ports: RunContextPorts;
  readonly #begunWith: string | undefined;
  /** Number of the last write: the store refuses a write that arrives after its successor. */
  #sequence = 0;
  #savesProgress = false;

  constructor(task: RunningTask, ports: RunContextPorts) {
    this.#claim = claimOf(task);
    this.#inherited = { traceparent: task.traceparent, tenant: task.tenant };
    this.#ports = ports;
    this.#begunWith = JSON.stringify(task.progress);
  }

  async saveProgress(progress: Json): Promise<void> {
    if (this.#ports.items.isUsed) throw eitherOr(this.#claim);
    const stored = storableJson(`the progress of ${describeTask(this.#claim)}`, progress, PROGRESS_LIMIT_BYTES);
    this.#savesProgress = true;
    await this.#save(stored, JSON.stringify(stored) !== this.#begunWith);
  }

  async each(...given: EachArguments): Promise<readonly Json[] | undefined> {
    if (this.#savesProgress) throw eitherOr(this.#claim);
    const [items, run, options = {}] = given;
    return this.#ports.items.each(items, run, options, (record, hasNew) => this.#save(record, hasNew));
  }

  async #save(progress: Json, isNew: boolean): Promise<void> {
    await this.#ports.verb(undefined, async (stamp, limits) => {
      const outcome = await this.#ports.tasks.progress(this.#claim, progress, this.#numbered(stamp), limits);
      if (outcome.kind === 'applied' && isNew) this.#ports.onProgress();
      return outcome.kind === 'applied';
    });
  }

  async commit(result?: Json, writes: readonly UserWrite[] = [], options: CommitOptions = {}): Promise<Committed> {
    const { tasks, verb } = this.#ports;
    const key = describeTask(this.#claim);
    validOptions(`the options of committing ${key}`, options, ['spawn']);
    ensureWrites(`the writes of ${key}`, writes);
    const asked = await this.#newTasks(`what ${key} spawns`, options.spawn ?? []);
    ensureSpawnable(this.#claim, asked, writes.length);
    const stored = result === undefined ? undefined : storableJson(`the result of ${key}`, result, RESULT_LIMIT_BYTES);
    const children = await this.#checkedIn(asked);
    const send: Parameters<SendVerb>[1] = async (stamp, limits) => {
      const effects = [...writes, ...children.map((child) => ({ spawn: child }))];
      const numbered = this.#numbered(stamp);
      const sent = await tasks.commit(this.#claim, stored, effects, numbered, limits);
      const outcome = this.#noted(await this.#decided(sent, 'done', numbered, limits));
      return isApplied(outcome, `commit of ${key}`);
    };
    await this.#creating(children, () => verb('done', send, 'commit'));
    if (children.length > 0) this.#ports.onFollowers(children);
    return SETTLED;
  }

  async snooze(delay: Parameters<TaskContext['snooze']>[0]): Promise<Committed> {
    const { tasks, runtime, verb } = this.#ports;
    const readyAt = laterBy('snooze', runtime.clock.now(), delay);
    await this.#ports.items.record();
    await verb('snoozed', async (stamp, limits) => {
      const outcome = this.#noted(await tasks.snooze(this.#claim, readyAt, stamp, limits));
      return outcome.kind === 'applied';
    });
    return SETTLED;
  }

  async waitFor(requests: readonly TaskRequest[]): Promise<Committed> {
    const { tasks, verb } = this.#ports;
    const key = describeTask(this.#claim);
    const { length } = validRequests(`the children of ${key}`, requests);
    if (length > CHILDREN_LIMIT)
      throw new ConfigurationError(`${key} waits for ${length} children: must be at most ${CHILDREN_LIMIT}`);
    const batch = childrenBatch(this.#claim);
    const asked = (await this.#newTasks(`the children of ${key}`, requests)).map((child) => ({
      ...child,
      links: { ...child.links, batch },
    }));
    ensureAwaitable(this.#claim, asked);
    ensureSpawnable(this.#claim, asked, BATCH_ACTIONS);
    const children = await this.#checkedIn(asked);
    await this.#ports.items.record();
    const send: Parameters<SendVerb>[1] = async (stamp, limits) => {
      const numbered = this.#numbered(stamp);
      const sent = await tasks.waitForChildren(this.#claim, batch, children, numbered, limits);
      const outcome = this.#noted(await this.#decided(sent, 'ready', numbered, limits));
      return isApplied(outcome, `waiting of ${key}`);
    };
    await this.#creating(children, () => verb('snoozed', send, 'wait_for'));
    this.#ports.onFollowers(children);
    return SETTLED;
  }

  #numbered(stamp: Stamp): SequencedStamp {
    return { ...stamp, sequence: ++this.#sequence };
  }

  /** A refusal is final only once the commit is barred. */
  async #decided(
    outcome: CommitOutcome,
    to: TaskRecord['state'],
    { nonce, sequence }: SequencedStamp,
    limits: WriteLimits,
  ): Promise<CommitOutcome> {
    if (outcome.kind !== 'canceled') return outcome;
    const { tasks, runtime } = this.#ports;
    return barred(outcome, { nonce, to }, () => tasks.bar(this.#claim, { ...stampOf(runtime), sequence }, limits));
  }

  #noted<Ended extends Settled | CommitOutcome>(outcome: Ended): Ended {
    if (outcome.kind === 'applied' && outcome.isFollowed === true) this.#ports.onFollowed();
    logMiscount(this.#ports.log, outcome);
    return outcome;
  }

  async #newTasks(what: string, requests: readonly TaskRequest[]): Promise<readonly NewTask[]> {
    const defaults = {
      runtime: this.#ports.runtime,
      queue: this.#claim.queue,
      ...this.#inherited,
      hasPayloadStore: this.#ports.payloads !== undefined,
    };
    return Promise.all(
      validRequests(what, requests).map(({ task, input, options }) => newTaskOf(task, input, options, defaults)),
    );
  }

  /** After a refusal no task names the payloads that were written for it. */
  async #creating(children: readonly NewTask[], send: () => Promise<void>): Promise<void> {
    try {
      await send();
    } catch (error) {
      if (error instanceof CommitRefusedError) await allOf(children.map((child) => discardPayload(child, this.#ports)));
      throw error;
    }
  }

  #checkedIn(children: readonly NewTask[]): Promise<readonly NewTask[]> {
    const { runtime, trace } = this.#ports;
    const traced = children.map((child) => trace?.spans.create(child, runtime.clock.now(), trace.attempt) ?? child);
    return allOf(traced.map((child) => checkedIn(child, this.#ports, runtime.ids.unique())));
  }
}

function eitherOr(claim: Claim): ConfigurationError {
  return new ConfigurationError(`${describeTask(claim)}: a task uses each or saveProgress, not both`);
}

/** The row that counts the children. */
const BATCH_ACTIONS = 1;

function isApplied(outcome: CommitOutcome, what: string): boolean {
  if (outcome.kind === 'canceled') throw refusalOf(what, outcome.reasons);
  return outcome.kind === 'applied';
}
