/** Spans as the code here asks for them. `open-telemetry.ts` makes them; without a listener there are none. */

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** What a span is when it begins. Times are epoch milliseconds. */
export interface SpanDraft {
  readonly name: string;
  readonly kind: 'internal' | 'client' | 'producer' | 'consumer';
  readonly startAt: number;
  readonly attributes: Attributes;
  /** A span of this process, or a context as W3C Trace Context words it; absent: the active span. */
  readonly parent?: Span | string | undefined;
  /** The parent where no span is active. */
  readonly fallback?: Span | undefined;
  /** It begins a trace. */
  readonly isRoot?: boolean;
  /** Contexts, as W3C Trace Context words them. */
  readonly links?: readonly (string | undefined)[];
  /** The active span becomes a link, where it is not the parent. */
  readonly linksActive?: boolean;
}

/** How a span ended. */
export interface SpanEnd {
  readonly at: number;
  readonly attributes?: Attributes | undefined;
  /** Absent: well. */
  readonly error?: { readonly type: string; readonly message: string } | undefined;
}

export interface Span {
  /** Its context, as W3C Trace Context words it: what is stored in rows. Undefined: what is registered makes no real spans. */
  readonly traceparent: string | undefined;
  /** Runs code with this span as the active one. */
  within<Result>(code: () => Result): Result;
  end(end: SpanEnd): void;
}

export interface Tracing {
  /** Undefined while no provider is registered; the draft is not made then. */
  begin(draft: () => SpanDraft): Span | undefined;
}
