/**
 * Broken on purpose: each switch takes one rule of the protocol away, and the model that must notice it says which invariant does.
 * `Task.tla` and `Lock.tla` have more switches (`B("…")`) than this list: those here have been seen to be found.
 */
export interface Switch {
  /** What is put into `Broken`. */
  readonly broken: readonly string[];
  readonly model: string;
  readonly what: string;
  readonly changes?: Readonly<Record<string, string>>;
}

export const SWITCHES: readonly Switch[] = [
  {
    broken: ['noBelief'],
    model: 'task-work',
    what: 'requests are sent, and attempts repeated, without asking for belief',
  },
  { broken: ['longTrust'], model: 'task-beat', what: 'belief has no end of its own' },
  {
    broken: ['openLate'],
    model: 'task-beat',
    what: 'the window opens when the answer comes, not before the request is sent',
  },
  { broken: ['noSkew'], model: 'task-beat', what: 'a contender does not wait for the clock bound' },
  { broken: ['noNonce'], model: 'task-work', what: 'a refusal by its own nonce counts as a refusal' },
  { broken: ['guessYes'], model: 'task-work', what: 'a refusal after a lost answer counts as success' },
  { broken: ['revive', 'renewBlind'], model: 'task-beat', what: 'an ended session is renewed' },
  {
    broken: ['expireUntimed', 'expireUnseen'],
    model: 'task-stale',
    what: 'a contender that judged a session once may end it at any time',
  },
  { broken: ['takeExpired'], model: 'task-beat', what: 'a takeover from an expired session that was not ended first' },
  { broken: ['takeLive'], model: 'task-work', what: 'a takeover from a live session' },
];
