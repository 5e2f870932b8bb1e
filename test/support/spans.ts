/** Registers OpenTelemetry's own SDK for the test that asks, and keeps the spans that end. */
import { context, trace } from '@opentelemetry/api';
import type { HrTime } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ReadableSpan, Sampler } from '@opentelemetry/sdk-trace-base';
import { defined } from '../../shared/core/defined.ts';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

export interface RecordedSpans extends Disposable {
  /** Those that ended since the last call. */
  take(): readonly ReadableSpan[];
}

export function recordSpans(
  options: { readonly sampler?: Sampler; readonly hasContexts?: boolean } = {},
): RecordedSpans {
  const { sampler, hasContexts = true } = options;
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...defined({ sampler }),
  });
  trace.setGlobalTracerProvider(provider);
  if (hasContexts) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return {
    take() {
      const spans = exporter.getFinishedSpans();
      exporter.reset();
      return spans;
    },
    [Symbol.dispose]() {
      trace.disable();
      context.disable();
    },
  };
}

/** A span and those under it, by their names, in the order in which they began. */
interface Tree {
  readonly name: string;
  readonly under: readonly Tree[];
}

/** Builds the trees of exported spans. A span whose parent was not exported, and is not `outside`, is an error: its trace has a hole. */
export function treesOf(spans: readonly ReadableSpan[], outside: readonly string[] = []): readonly Tree[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const parentOf = (span: ReadableSpan): string | undefined => {
    const { spanId } = span.parentSpanContext ?? {};
    if (spanId === undefined || outside.includes(spanId)) return undefined;
    if (!ids.has(spanId)) throw new Error(`the parent ${spanId} of ${span.name} was not exported`);
    return spanId;
  };
  const under = (parent: string | undefined): readonly Tree[] =>
    spans
      .filter((span) => parentOf(span) === parent)
      .map((span, index) => ({ span, index }))
      .sort((a, b) => epochMs(a.span.startTime) - epochMs(b.span.startTime) || a.index - b.index)
      .map(({ span }) => ({ name: span.name, under: under(span.spanContext().spanId) }));
  return under(undefined);
}

export function epochMs([seconds, nanoseconds]: HrTime): number {
  return seconds * 1_000 + Math.round(nanoseconds / 1e6);
}
