/**
 * A lease held around a handler: the common part of `lock()`, `semaphore()` and `leader()`.
 *
 *   - One session per invocation, shared by all of them in a chain. The first creates it and the last ends it,
 *     because an environment is frozen and reused with everything it held.
 *   - Waiting never takes longer than the invocation's time.
 *   - `signalOf(context)` aborts when a lease is lost, or when the time is nearly over. A handler that does not stop then keeps its leases
 *     until Lambda ends it and its session expires, so they never pass on under running work.
 *   - Failing to acquire is an error, so that Lambda or the queue behind it tries again;
 *     or the answer of `onUnavailable`,
 *     without calling the handler.
 */
import type { MiddlewareObj, Request } from '@middy/core';
import { ConfigurationError, shown, assert } from '../../shared/core/errors.ts';
import type { Duration } from '../../shared/core/validate/duration.ts';
import { givenMs } from '../../shared/core/validate/duration.ts';
import { validOptions } from '../../shared/core/validate/options.ts';
import type { Leasehold, SessionSettings } from '../../shared/client/leasehold.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import type { SdkClient } from '../../shared/dynamo/wire/sdk.ts';
import { LockUnavailableError } from '../../shared/coordination/lock/lock-record.ts';
import { SemaphoreFullError } from '../../shared/coordination/semaphore/semaphore-contender.ts';
import type { Session } from '../../shared/client/session.ts';
import { deadline, deadlineOf } from './deadline.ts';
import type { Context } from './lambda-context.ts';

export interface HeldRightOptions<Event, Unavailable extends Error> {
  /** Made once, outside the handler: it holds connections, no identity. */
  readonly leasehold?: Leasehold | undefined;
  /**
   * Your `DynamoDBClient` or `DynamoDBDocumentClient`, in place of `leasehold`: table and clock bound come from the environment.
   * All middlewares with the same client share a session.
   */
  readonly client?: SdkClient | undefined;
  /** How long to wait for the right; absent: not at all. */
  readonly wait?: Duration | undefined;
  /** Settings of its session; in a chain of several, the first decides. */
  readonly session?: Pick<SessionSettings, 'ttl' | 'heartbeat' | 'lockDelay'> | undefined;
  /** How long before Lambda's timeout the handler is asked to stop; of several, the first decides. */
  readonly deadlineMargin?: Duration | undefined;
  /** The answer if the lease is unavailable. Without it, the invocation fails with that error. */
  readonly onUnavailable?: ((error: Unavailable, event: Event, context: Context) => unknown) | undefined;
}

/** A name, or how to find it in an event. */
export type NameOf<Event> = string | ((event: Event, context: Context) => string);

export interface HeldRightMiddleware<Right, Event> extends MiddlewareObj<Event> {
  /** The right, while the handler runs. */
  of(context: Context): Right;
}

/** Long enough to give back and to end the session, were the store slow. */
const DEFAULT_DEADLINE_MARGIN_MS = 2_000;

interface Right extends AsyncDisposable {
  readonly signal: AbortSignal;
}

const COMMON_OPTIONS = ['leasehold', 'client', 'wait', 'session', 'deadlineMargin', 'onUnavailable'] as const;

/**
 * Checks what a middleware was given, when it is made.
 * @param nameOption the option that names the right: a text, or a function of the event
 * @throws ConfigurationError
 */
export function validRight<Options extends HeldRightOptions<never, never>>(
  kind: string,
  options: Options,
  nameOption: keyof Options & string,
  others: readonly (keyof Options & string)[],
): void {
  // The compiler cannot see that these are all names of `Options`.
  const names = [nameOption, ...others, ...COMMON_OPTIONS] as never;
  validOptions(`the options of ${kind}()`, options, names);
  const { leasehold, client, [nameOption]: name } = options as HeldRightOptions<never, never> & Record<string, unknown>;
  if ((leasehold === undefined) === (client === undefined))
    throw new ConfigurationError(`${kind} requires leasehold or client, and not both`);
  if (client === undefined && typeof (leasehold as Partial<Leasehold>).session !== 'function')
    throw new ConfigurationError(`${kind}: leasehold = ${shown(leasehold)}: pass what createLeasehold() returned`);
  if (typeof name !== 'string' && typeof name !== 'function')
    throw new ConfigurationError(`${kind}: ${nameOption} = ${shown(name)}: must be a name, or a function of the event`);
}

export function heldRight<R extends Right, Event, Unavailable extends LockUnavailableError | SemaphoreFullError>(
  kind: string,
  options: HeldRightOptions<Event, Unavailable>,
  acquire: (session: Session, request: Request<Event>, wait: number) => Promise<R>,
): HeldRightMiddleware<R, Event> {
  const waitMs = givenMs(`${kind}: wait`, options.wait) ?? 0;
  const marginMs = givenMs(`${kind}: deadlineMargin`, options.deadlineMargin) ?? DEFAULT_DEADLINE_MARGIN_MS;
  const rights = new WeakMap<Context, R>();
  const leasehold = leaseholdOf(options);
  const key = `leasehold.${kind}.${nextKey++}`;

  const before = async (request: Request<Event>): Promise<void> => {
    const { context } = request;
    const invocation = await Invocation.join(context, { leasehold, session: options.session, marginMs });
    try {
      const right = await acquire(invocation.session, request, Math.min(waitMs, invocation.remainingMs));
      rights.set(context, right);
      invocation.add(right);
      leaveNoteFor(request, key, giveBack);
    } catch (error) {
      await invocation.leave();
      if (!isUnavailable(error) || options.onUnavailable === undefined) throw error;
      await answerEarly(request, options.onUnavailable(error as Unavailable, request.event, context));
    }
  };

  const giveBack = async ({ context }: Pick<Request<Event>, 'context'>): Promise<void> => {
    const right = rights.get(context);
    if (right === undefined) return;
    rights.delete(context);
    try {
      await right[Symbol.asyncDispose]();
    } catch {
      // The work is done and must not fail because of this. The session's end releases the rest.
    }
    await Invocation.of(context)?.leave();
  };

  return {
    name: kind,
    before,
    after: giveBack,
    onError: giveBack,
    of(context) {
      const right = rights.get(context);
      assert(right !== undefined, `the ${kind} middleware holds nothing for this invocation`);
      return right;
    },
  };
}

const LEASEHOLDS = new WeakMap<SdkClient, Leasehold>();

function leaseholdOf({ leasehold, client }: Pick<HeldRightOptions<never, never>, 'leasehold' | 'client'>): Leasehold {
  if (leasehold !== undefined) return leasehold;
  assert(client !== undefined, 'the options were checked');
  const made = LEASEHOLDS.get(client) ?? createLeasehold({ client });
  LEASEHOLDS.set(client, made);
  return made;
}

/** Aborts when a lease of this invocation is lost, or its time is nearly over. The reason says which. */
export function signalOf(context: Context): AbortSignal {
  const invocation = Invocation.of(context);
  assert(invocation !== undefined, 'no right is held for this invocation');
  return invocation.signal;
}

export function nameFrom<Event>(name: NameOf<Event>, { event, context }: Request<Event>): string {
  return typeof name === 'string' ? name : name(event, context);
}

/** Distinguishes middlewares of one kind, only within this process. */
let nextKey = 1;

class Invocation {
  static readonly #all = new WeakMap<Context, Invocation>();

  readonly session: Session;
  readonly #context: Context;
  readonly #stopTimer: () => void;
  readonly #marginMs: number;
  readonly #signals: AbortSignal[];
  #users = 1;

  private constructor(context: Context, session: Session, timer: { marginMs: number; stop: () => void }) {
    this.session = session;
    this.#context = context;
    this.#marginMs = timer.marginMs;
    this.#stopTimer = timer.stop;
    this.#signals = [deadlineOf(context).signal, session.signal];
  }

  static of(context: Context): Invocation | undefined {
    return Invocation.#all.get(context);
  }

  static async join(
    context: Context,
    options: Pick<HeldRightOptions<never, never>, 'session'> & {
      readonly leasehold: Leasehold;
      readonly marginMs: number;
    },
  ): Promise<Invocation> {
    const found = Invocation.#all.get(context);
    if (found !== undefined) {
      found.#users++;
      return found;
    }
    const { leasehold, session: settings, marginMs } = options;
    const session = await leasehold.session({
      ...settings,
      name: context.functionName,
      node: context.logStreamName,
    });
    const timer = deadline({ marginMs, clock: session.holder.clock });
    const request = { context } as Request;
    void timer.before?.(request);
    const invocation = new Invocation(context, session, { marginMs, stop: () => void timer.after?.(request) });
    Invocation.#all.set(context, invocation);
    return invocation;
  }

  get signal(): AbortSignal {
    return AbortSignal.any(this.#signals);
  }

  get remainingMs(): number {
    return Math.max(0, this.#context.getRemainingTimeInMillis() - this.#marginMs);
  }

  add(right: Right): void {
    this.#signals.push(right.signal);
  }

  async leave(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    Invocation.#all.delete(this.#context);
    this.#stopTimer();
    await this.session.end();
  }
}

type CleanUp = (request: never) => Promise<void> | void;

/** Powertools' convention: a middleware that answers early calls the cleanups that earlier ones have stored in `internal`. */
function leaveNoteFor(request: Request, key: string, cleanUp: CleanUp): void {
  request.internal = { ...request.internal, [key]: cleanUp };
}

/** middy runs no further hooks of a chain that is answered early, so earlier middleware would never clean up. */
async function answerEarly(request: Request, answer: unknown): Promise<void> {
  const notes = Object.entries(request.internal).filter(([key]) => /^(powertools-for-aws|leasehold)\./.test(key));
  for (const [, cleanUp] of notes.reverse())
    if (typeof cleanUp === 'function') await (cleanUp as CleanUp)(request as never);
  request.earlyResponse = answer;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof LockUnavailableError || error instanceof SemaphoreFullError;
}
