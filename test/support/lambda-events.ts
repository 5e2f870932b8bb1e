/**
 * Everything that a local Lambda said, in order, and a way to wait for what it will say.
 */
import type { LambdaEvent } from '../../examples/platform/lambda/events.ts';

type Kind = LambdaEvent['type'];
type OfKind<K extends Kind> = Extract<LambdaEvent, { type: K }>;

interface Waiter {
  readonly matches: (event: LambdaEvent) => boolean;
  readonly resolve: (event: LambdaEvent) => void;
}

export class LambdaEvents {
  readonly all: LambdaEvent[] = [];
  readonly #waiters = new Set<Waiter>();

  readonly record = (event: LambdaEvent): void => {
    this.all.push(event);
    for (const waiter of this.#waiters) {
      if (!waiter.matches(event)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(event);
    }
  };

  of<K extends Kind>(type: K): OfKind<K>[] {
    return this.all.filter((event): event is OfKind<K> => event.type === type);
  }

  lines(stream: OfKind<'log'>['stream']): string[] {
    return this.of('log')
      .filter((event) => event.stream === stream)
      .map(({ line }) => line);
  }

  /** The first such event, from the beginning or from now on. */
  async until<K extends Kind>(type: K, accepts: (event: OfKind<K>) => boolean = () => true): Promise<OfKind<K>> {
    const matches = (event: LambdaEvent): event is OfKind<K> => event.type === type && accepts(event as OfKind<K>);
    const earlier = this.all.find(matches);
    if (earlier !== undefined) return earlier;
    return new Promise((resolve) => {
      this.#waiters.add({ matches, resolve: (event) => resolve(event as OfKind<K>) });
    });
  }
}
