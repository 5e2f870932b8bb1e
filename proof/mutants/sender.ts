import { becomes } from './change.ts';
import type { Mutant } from './mutation.ts';
import { branch, condition, operation, returned, statement } from './place.ts';

const SEND = 'shared/dynamo/engine/send.ts';

export const SENDER_MUTANTS: readonly Mutant[] = [
  {
    id: 'M12',
    what: 'a write that was not answered and then refused is taken for applied',
    edits: [
      {
        file: SEND,
        in: 'resolveRefusal',
        at: condition('nonce'),
        change: ({ text }) => `${text} || (unanswered && item?.state === 'running')`,
      },
    ],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M13',
    what: 'a write that was not answered is reported as not applied',
    edits: [
      { file: SEND, in: 'Sender.#attemptUntilAnswered', at: operation('===', 'unknown'), change: becomes('false') },
    ],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M14',
    what: 'being refused by one’s own earlier attempt is taken for a loss',
    edits: [
      { file: SEND, in: 'resolveRefusal', at: branch('nonce'), change: 'drop' },
      { file: SEND, in: 'earlierAttempt', at: returned(), change: becomes("'none'") },
    ],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M15',
    what: 'one’s own earlier attempt is recognised by the writer, not by the nonce',
    edits: [
      {
        file: SEND,
        in: 'resolveRefusal',
        at: operation('===', 'nonce'),
        change: ({ left, right }) => `String(${left}).split('-')[0] === ${right}.split('-')[0]`,
      },
    ],
    killedBy: ['I0'],
  },
  {
    id: 'M58',
    what: 'a transaction conflict is taken for a refusal',
    edits: [
      {
        file: SEND,
        in: 'isRefusal',
        at: operation('===', 'conditionFailed'),
        change: ({ text, left }) => `${text} || ${left} === 'conflict'`,
      },
    ],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M61',
    what: 'a retry does not ask again whether its sender still believes',
    edits: [
      {
        file: SEND,
        in: 'Sender.#attemptUntilAnswered',
        at: statement('ensureBelief'),
        change: ({ text }) => `if (attempt === 1) ${text}`,
      },
    ],
    killedBy: ['I1b'],
  },
  {
    id: 'M40',
    what: 'a holder that is not sure goes on sending',
    edits: [{ file: SEND, in: 'Sender.#attemptUntilAnswered', at: statement('ensureBelief'), change: 'drop' }],
    killedBy: ['I1b'],
  },
];
