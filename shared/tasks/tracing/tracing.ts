/** The interface for spans. `open-telemetry.ts` creates them; without a registered provider there are none. */
import { messageOf } from '../../core/errors.ts';
import type { Clock } from '../../core/runtime/clock.ts';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A span's initial data. Times are epoch milliseconds. */
export interface SpanDraft {
  readonly name: string;
  readonly kind: 'internal' | 'client' | 'producer' | 'consumer';
  readonly startAt: number;
  readonly attributes: Attributes;
  /** A span of this process, or a context in the form of W3C Trace Context. Default: the active span. */
  readonly parent?: Span | string | undefined;
  /** The parent if no span is active. */
  readonly fallback?: Span | undefined;
  /** Whether it begins a new trace. */
  readonly isRoot?: boolean;
  /** Contexts to link, in the form of W3C Trace Context. */
  readonly links?: readonly (string | undefined)[];
  /** Whether to link the active span if it is not the parent. */
  readonly linksActive?: boolean;
}

/** The end of a span. */
export interface SpanEnd {
  readonly at: number;
  readonly attributes?: Attributes | undefined;
  /** Absent: success. */
  readonly error?: { readonly type: string; readonly message: string } | undefined;
}

export interface Span {
  /** Its context in the form of W3C Trace Context, as stored in rows. Undefined: the registered provider makes no real spans. */
  readonly traceparent: string | undefined;
  /** Runs code with this span as the active one. */
  within<Result>(code: () => Result): Result;
  end(end: SpanEnd): void;
}

export interface Tracing {
  /** Returns undefined while no provider is registered, without calling `draft`. */
  begin(draft: () => SpanDraft): Span | undefined;
}

/**
 * Runs a request within its span if a provider is registered. The span ends with the response. Without `isApplied`, every response is a
 * success.
 */
export async function sendWithin<Answer>(
  span: Span | undefined,
  clock: Clock,
  send: () => Promise<Answer>,
  isApplied: (answer: Answer) => boolean = () => true,
): Promise<Answer> {
  if (span === undefined) return send();
  try {
    const answer = await span.within(send);
    const refused = { type: 'refused', message: 'the claim is no longer the current one' };
    span.end({ at: clock.now(), error: isApplied(answer) ? undefined : refused });
    return answer;
  } catch (error) {
    const type = error instanceof Error ? error.name : 'Error';
    span.end({ at: clock.now(), error: { type, message: messageOf(error) } });
    throw error;
  }
}
