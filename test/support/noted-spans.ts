/** Spans as our own code asks for them, with no SDK in between: for tests of times, parents and ends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span, SpanDraft, SpanEnd, Tracing } from '../../shared/tasks/tracing/tracing.ts';

export interface NotedSpan {
  readonly draft: SpanDraft;
  readonly parent: string;
  end?: SpanEnd;
}

/** Keeps all spans, in the order in which they begin. */
export class NotedSpans implements Tracing {
  readonly all: NotedSpan[] = [];
  readonly #active = new AsyncLocalStorage<string>();

  begin(draft: () => SpanDraft): Span {
    const drafted = draft();
    const { parent, fallback, isRoot } = drafted;
    const given = typeof parent === 'string' ? parent : parent?.traceparent;
    const above = isRoot === true ? 'a root' : (given ?? this.#active.getStore() ?? fallback?.traceparent ?? 'none');
    const noted: NotedSpan = { draft: drafted, parent: above };
    const number = String(this.all.push(noted));
    return {
      traceparent: number,
      within: (code) => this.#active.run(number, code),
      end: (end) => {
        if (noted.end !== undefined) throw new Error(`span ${number} ends twice`);
        noted.end = end;
      },
    };
  }
}
