/** Switches that no model notices, each with the reason: the fault that the model lacks, or the other guard that suffices. */
export const REDUNDANT: Readonly<Record<string, string>> = {
  claimAnyCounter: 'alone: the nonce is compared too, and each write changes it',
  claimAnyNonce:
    'alone: what changes a ready task without moving its counter (another input, another time) is not modelled',
  takeAnyCounter: 'alone: the session is compared, and a session that is over claims nothing more',
  takeAnySession: 'alone: the counter is compared, and each claim moves it',
  noSession: 'the counter is compared, and no two tenures have one counter',
  claimRunning: 'alone: the counter is compared, and the claim that made it run has moved it',
  revive: 'alone: the end of a session has written another nonce, and a renewal compares it',
  renewLate:
    'a holder stops believing before its session expires by its own clock, and a late copy finds another nonce',
  expireUntimed:
    'alone: the renewals that were seen are compared, and without another renewal the session stays expired',
  expireUnseen: 'alone: the expiry is compared, and a renewal has moved it',
  deafBeat: 'a holder that is refused believes until its window ends, and no session is ended by expiry before that',
  sameSequence: 'a progress without an answer may be repeated under its number: its text is not modelled',
  heldByAnyone: 'alone: the counter is compared',
  heldSinceAny: 'alone: the session is compared, and a session in the models has few tenures of one key',
  barsAny: 'a bar that comes late raises the counter of a free key, which takes nothing from a holder',
  forgetsCount: 'a worker that forgets a task whose count was refused finds it under its own session, and adopts it',
  completesOpen:
    'the generation is compared, and a generation that was counted once has the same counts for every waiter',
  makesTwice: 'alone: the nonce is compared too, and the write that makes a task of an occurrence changes it',
  advanceBlind: 'alone: the id of an occurrence is taken once it has become a task',
  byNonce:
    'the permit, the place or the mark that a request has written refuses its copies, so none brings its nonce back',
  touchSkew: 'needs two copies and clocks apart, in a model beyond those that are exhausted here',
};
