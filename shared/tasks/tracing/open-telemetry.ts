/**
 * OpenTelemetry, if this process has registered it.
 *
 * All copies of `@opentelemetry/api` find each other through one global object,
 * and this module uses the same object. So this package does not need
 * its own copy. Users without tracing do not install or load one, and a copy from a Lambda layer is found,
 * although a bundle cannot import from a layer. Our own copy would stay silent if it were older than the one that
 * registered. `test/unit/tasks/tracing/open-telemetry.test.ts` checks these assumptions against the real API and SDK.
 *
 * It caches nothing between two spans: if a provider is registered later, the next span finds it.
 */
import { messageOf } from '../../core/errors.ts';
import { warn } from '../../core/runtime/host.ts';
import type { Attributes, Span, SpanDraft, SpanEnd, Tracing } from './tracing.ts';

/** The API's major version is 1, so far the only one. */
const API = Symbol.for('opentelemetry.js.api.1');
/** Key of a context's span. */
const SPAN_KEY = Symbol.for('OpenTelemetry Context Key SPAN');
const TRACER = 'leasehold';

const KINDS = { internal: 0, client: 2, producer: 3, consumer: 4 } as const;
const STATUS_ERROR = 2;
const INVALID_TRACE_ID = '0'.repeat(32);

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

/** The part of the API's `Context` that spans need. */
interface Context {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): Context;
  deleteValue(key: symbol): Context;
}

interface ApiSpan {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  end(at: Date): void;
}

interface Tracer {
  startSpan(
    name: string,
    options: {
      readonly kind: number;
      readonly startTime: Date;
      readonly attributes: Attributes;
      readonly links: { readonly context: SpanContext }[];
    },
    context: Context,
  ): ApiSpan;
}

/** Registrations of this process, as the API's global holds them. */
export interface Registered {
  readonly trace?: { getTracer(name: string): Tracer };
  readonly context?: { active(): Context; with<Result>(context: Context, code: () => Result): Result };
}

/** Spans for the provider that is registered, whenever one is. */
export const openTelemetry: Tracing = {
  begin(draft) {
    const registered = (globalThis as { readonly [API]?: Registered })[API];
    try {
      return registered?.trace === undefined ? undefined : begin(registered.trace, registered.context, draft());
    } catch (error) {
      warn(`a span was not begun: ${messageOf(error)}`);
      return undefined;
    }
  },
};

function begin(
  provider: NonNullable<Registered['trace']>,
  contexts: Registered['context'],
  { name, kind, startAt, attributes, parent, fallback, isRoot = false, links = [], linksActive = false }: SpanDraft,
): Span {
  const active = contexts?.active() ?? EMPTY;
  const hasActive = active.getValue(SPAN_KEY) !== undefined;
  const wanted = isRoot ? 'none' : (parent ?? (hasActive ? undefined : fallback));
  const around = wanted === undefined ? active : under(wanted, active);
  const linked = links.map(parseTraceparent);
  if (linksActive) linked.push((active.getValue(SPAN_KEY) as ApiSpan | undefined)?.spanContext());
  const span = provider.getTracer(TRACER).startSpan(
    name,
    {
      kind: KINDS[kind],
      startTime: new Date(startAt),
      attributes,
      links: linked.flatMap((context) => (context === undefined ? [] : [{ context }])),
    },
    around,
  );
  return new RegisteredSpan(span, around.setValue(SPAN_KEY, span), { contexts, startAt });
}

function under(parent: Span | string, active: Context): Context {
  if (parent instanceof RegisteredSpan) return parent.context;
  const context = typeof parent === 'string' ? parseTraceparent(parent) : undefined;
  // If the context is unreadable, the span has no parent. The active span is not its parent either.
  return context === undefined ? active.deleteValue(SPAN_KEY) : active.setValue(SPAN_KEY, remoteSpan(context));
}

class RegisteredSpan implements Span {
  readonly traceparent: string | undefined;
  readonly context: Context;
  readonly #span: ApiSpan;
  readonly #contexts: Registered['context'];
  readonly #startAt: number;

  constructor(
    span: ApiSpan,
    context: Context,
    { contexts, startAt }: { readonly contexts: Registered['context']; readonly startAt: number },
  ) {
    this.#span = span;
    this.context = context;
    this.traceparent = formatTraceparent(span.spanContext());
    this.#contexts = contexts;
    this.#startAt = startAt;
  }

  within<Result>(code: () => Result): Result {
    return this.#contexts === undefined ? code() : this.#contexts.with(this.context, code);
  }

  end({ at, attributes, error }: SpanEnd): void {
    try {
      if (attributes !== undefined) this.#span.setAttributes(attributes);
      if (error !== undefined) {
        this.#span.setAttributes({ 'error.type': error.type });
        this.#span.setStatus({ code: STATUS_ERROR, message: error.message });
      }
      // Its start time may come from the clock of another machine.
      this.#span.end(new Date(Math.max(at, this.#startAt)));
    } catch (thrown) {
      warn(`a span was not ended: ${messageOf(thrown)}`);
    }
  }
}

function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (traceId === INVALID_TRACE_ID) return undefined;
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}

function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** A parent span from another process. */
function remoteSpan(context: SpanContext): object {
  const nothing = (): object => span;
  const span = {
    spanContext: () => context,
    isRecording: () => false,
    setAttribute: nothing,
    setAttributes: nothing,
    addEvent: nothing,
    addLink: nothing,
    addLinks: nothing,
    setStatus: nothing,
    updateName: nothing,
    recordException: nothing,
    end: nothing,
  };
  return span;
}

/** The context if the process has not registered a context manager. */
class Values implements Context {
  readonly #values: ReadonlyMap<symbol, unknown>;

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new Values(new Map([...this.#values, [key, value]]));
  }

  deleteValue(key: symbol): Context {
    return new Values(new Map([...this.#values].filter(([other]) => other !== key)));
  }
}

const EMPTY = new Values(new Map());
