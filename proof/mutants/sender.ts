import { becomes } from './change.ts';
import type { Mutant } from './mutation.ts';
import { branch, call, returned, statement } from './place.ts';

const SEND = 'shared/dynamo/engine/send.ts';

export const SENDER_MUTANTS: readonly Mutant[] = [
  {
    id: 'M91',
    what: 'each request is sent again while its first attempt is under way',
    edits: [
      {
        file: SEND,
        in: 'Sender.#attempt',
        at: call('attempt'),
        change: ({ text }) => `(void ${text}.catch(() => undefined), ${text})`,
      },
    ],
    killedBy: ['RETRY'],
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
    id: 'M61',
    what: 'a retry does not ask again whether its sender still believes',
    edits: [
      {
        file: SEND,
        in: 'Sender.#attemptUntilAnswered',
        at: statement('ensureBelief'),
        change: 'drop',
      },
    ],
    killedBy: ['I1b'],
  },
];
