import type { Mutant } from './mutation.ts';

const SEND = 'shared/dynamo/engine/send.ts';

export const SENDER_MUTANTS: readonly Mutant[] = [
  {
    id: 'M12',
    what: 'a write that was not answered and then refused is taken for applied',
    edits: [
      {
        file: SEND,
        find: 'if (item?.nonce === nonce) return',
        replace: "if (item?.nonce === nonce || (unanswered && item?.state === 'running')) return",
      },
    ],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M13',
    what: 'a write that was not answered is reported as not applied',
    edits: [{ file: SEND, find: "unanswered ||= fault.applied === 'unknown';", replace: 'unanswered = false;' }],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M14',
    what: 'being refused by one’s own earlier attempt is taken for a loss',
    edits: [
      { file: SEND, find: "if (item?.nonce === nonce) return { kind: 'applied', item, late: true };", replace: '' },
      { file: SEND, find: "return unanswered ? 'unknown' : 'none';", replace: "return 'none';" },
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
        find: 'if (item?.nonce === nonce) return',
        replace: "if (String(item?.nonce).split('-')[0] === nonce.split('-')[0]) return",
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
        find: "if (fault.kind === 'conditionFailed') return true;",
        replace: "if (fault.kind === 'conditionFailed' || fault.kind === 'conflict') return true;",
      },
    ],
    killedBy: ['I0'],
    profile: 'network',
  },
  {
    id: 'M61',
    what: 'a retry does not ask again whether its sender still believes',
    edits: [{ file: SEND, find: 'limits.ensureBelief?.();', replace: 'if (attempt === 1) limits.ensureBelief?.();' }],
    killedBy: ['I1b'],
  },
  {
    id: 'M40',
    what: 'a holder that is not sure goes on sending',
    edits: [{ file: SEND, find: 'limits.ensureBelief?.();', replace: '' }],
    killedBy: ['I1b'],
  },
];
