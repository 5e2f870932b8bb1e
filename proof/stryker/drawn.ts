/** One change of one expression, condition or block, as StrykerJS makes it, that other processes put into the source which they load. */
export interface Drawn {
  /** Path in the repository. */
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Names the environment variable that has a `Drawn` as JSON. */
export const DRAWN_MUTANT = 'DRAWN_MUTANT';

export function drawnByEnvironment(): Drawn | undefined {
  const text = process.env[DRAWN_MUTANT];
  return text === undefined ? undefined : (JSON.parse(text) as Drawn);
}

export function spliced(source: string, { start, end, text }: Drawn): string {
  return source.slice(0, start) + text + source.slice(end);
}
