import type { Mutant } from '../change.ts';

const SEND = 'shared/dynamo/engine/send.ts';

export const SENDER_MUTANTS: readonly Mutant[] = [
  {
    id: 'M91',
    what: 'each request is sent again while its first attempt is under way',
    file: SEND,
    from: 'this.#driver.attempt(statement.kind, statement.input, attempt.signal)',
    to: '((void this.#driver.attempt(statement.kind, statement.input, attempt.signal).catch(() => undefined), this.#driver.attempt(statement.kind, statement.input, attempt.signal)))',
    killedBy: ['RETRY'],
  },
  {
    id: 'M14',
    what: 'being refused by one’s own earlier attempt is taken for a loss',
    file: SEND,
    from: `if (item?.nonce === nonce)\n    return { kind: 'applied', item, late: true, earlierAttempt: earlierAttempt(unanswered - 1) };`,
    to: ';',
    also: [{ file: SEND, from: "unanswered > 0 ? 'unknown' : 'none'", to: "('none')" }],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M61',
    what: 'a retry does not ask again whether its sender still believes',
    file: SEND,
    from: 'limits.ensureTrusted?.();',
    to: ';',
    killedBy: ['I1b'],
  },
];
