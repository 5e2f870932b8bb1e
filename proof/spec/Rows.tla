-------------------------------- MODULE Rows --------------------------------
(***************************************************************************)
(* The statements of the protocol as operators on rows: what each compares *)
(* (its guard), and the row that it leaves (its effect).                   *)
(*                                                                         *)
(* They know no clock, no network and no process: `a` holds the arguments  *)
(* of a statement, and each instant in it is a number that the caller      *)
(* read from a clock of its own. The models (relative time) and the trace  *)
(* specification (absolute time) read the rows through this page alone.    *)
(* The words in DynamoDB's own expressions are in                          *)
(* test/unit/dynamo/statements.golden.txt; each operator names its verb.   *)
(***************************************************************************)
EXTENDS Integers

Greater(a, b) == IF a > b THEN a ELSE b
Lesser(a, b)  == IF a < b THEN a ELSE b

NoOne == <<"-", 0>>     \* the session of a row without a holder

-----------------------------------------------------------------------------
(* A session row x: st (absent, live, invalid), exp (its expiry, by its    *)
(* holder's clock), rn (accepted renewals), n (nonce of the last write),   *)
(* why and inv (how and when it ended, by the ender's clock).              *)

\* session.create: the id is free.
CanCreate(x) == x.st = "absent"
Created(x, a) == [x EXCEPT !.st = "live", !.exp = a.at + a.ttl, !.rn = a.nrn, !.n = a.n]

\* session.renew: live, last written by the renewal that this one follows, and unexpired by its holder's reading.
CanRenew(x, a) == x.st = "live" /\ x.n = a.on /\ x.exp > a.at
Renewed(x, a) == [x EXCEPT !.exp = a.at + a.ttl, !.rn = a.nrn, !.n = a.n]

\* session.expire: live, with the renewals that were seen, and past its expiry by the ender's clock less the bound.
CanExpire(x, a) == x.st = "live" /\ x.rn = a.rn /\ x.exp <= a.before
\* session.invalidate: live. No nonce: an end wins over a renewal that is under way.
CanInvalidate(x) == x.st = "live"
Invalidated(x, a) == [x EXCEPT !.st = "invalid", !.why = a.why, !.inv = a.at, !.n = a.n]

\* What a contender may conclude from the row, by its own clock.
LooksExpired(x, now, skew) == x.st = "live" /\ x.exp + skew <= now
IsOver(x) == x.st \in {"invalid", "swept"}

\* When the keys of an ended session open, by any clock within the bound. After an orderly end: at once. After an
\* expiry the delay counts from when the session could first be ended, and lasts a heartbeat from the write at least.
\* After an end by force it counts from the write, and the keys stay closed until the session would have expired, because
\* its holder may hear nothing and believe until then.
OpenAfterExpiry(x, delay, beat, skew) ==
  Greater(Lesser(x.inv, x.exp + skew) + delay, x.inv + Lesser(delay, beat)) + skew
OpenAfterForce(x, delay, skew) == Greater(IF delay = 0 THEN x.exp ELSE x.inv + delay, x.exp) + skew
IsOpen(x, now, delay, beat, skew) ==
  IsOver(x) /\ (\/ x.why = "ended"
                \/ x.why = "expired" /\ (delay = 0 \/ OpenAfterExpiry(x, delay, beat, skew) <= now)
                \/ x.why \in {"destroyed", "check"} /\ OpenAfterForce(x, delay, skew) <= now)

-----------------------------------------------------------------------------
(* A task row t: st (absent, ready, running, done, dead, cancelled), ctr   *)
(* (lease counter), ses (the session of the last claim), att (attempts),   *)
(* seq (sequence of the last progress), n (nonce), due (when it may run).  *)

\* Guard of every verb of a holder: it runs, under my session and my counter.
IsMine(t, a) == t.st = "running" /\ t.ctr = a.c /\ t.ses = a.s
\* Guard of a contender that found the holder dead.
IsObserved(t, a) == t.st = "running" /\ t.ctr = a.oc /\ t.ses = a.o

\* task.claim: ready and due, with the counter and the nonce that were read.
CanClaim(t, a) == t.st = "ready" /\ t.ctr = a.oc /\ t.n = a.on /\ t.due <= a.at
\* task.claim, task.takeOver: a new tenure.
Taken(t, a) == [t EXCEPT !.st = "running", !.ses = a.s, !.ctr = @ + 1, !.att = @ + 1, !.seq = 0, !.n = a.n]
\* task.complete, task.commit, task.discard, task.giveUp, task.markDead, task.cancel, task.expire: an end.
Finished(t, a, st) == [t EXCEPT !.st = st, !.n = a.n]
\* task.retry keeps the attempt; task.release, task.snooze and task.wait give it back. None moves the counter.
Freed(t, a, att) == [t EXCEPT !.st = "ready", !.ses = NoOne, !.att = att, !.n = a.n, !.due = a.due]
\* task.progress, task.commit, task.wait, task.bar: mine, and later than what is there.
IsMyLater(t, a) == IsMine(t, a) /\ t.seq < a.seq
\* task.progress, task.bar. A bar is progress without content: a late commit finds its number passed.
Progressed(t, a) == [t EXCEPT !.seq = a.seq, !.n = a.n]
\* task.cancel, task.expire, task.reschedule, task.replace: ready, and not written since it was read.
IsUntouched(t, a) == t.st = "ready" /\ t.n = a.on
\* task.revive, task.renew: over, and not written since it was read. The counter goes on.
CanRevive(t, a) == t.st = a.ost /\ t.n = a.on
Revived(t, a) == Freed(t, a, 0)

-----------------------------------------------------------------------------
(* A lock row l: st (free, held), ctr, ses, n as above; freed (when the    *)
(* last tenure ended, by its ender's clock) and nb (not acquired before).  *)

\* lock.acquire: it is free, its delay is over, and nothing ended since this acquire was asked for, or nothing began
\* since the row was read. `before` is the asker's clock less the bound.
CanAcquire(l, a) == l.st = "free" /\ l.nb <= a.before /\ (l.freed < a.before \/ l.ctr = a.oc)
Acquired(l, a) == [l EXCEPT !.st = "held", !.ses = a.s, !.ctr = @ + 1, !.n = a.n]
\* lock.release, lock.update: mine. lock.takeOver, lock.settle, lock.force, lock.disown: as it was observed.
IsHeldBy(l, a) == l.st = "held" /\ l.ses = a.o /\ l.ctr = a.oc
TakenOver(l, a) == [Acquired(l, a) EXCEPT !.freed = Greater(l.freed, a.at)]
Released(l, a) == [l EXCEPT !.st = "free", !.ses = NoOne, !.freed = Greater(@, a.at), !.n = a.n]
\* lock.settle: what a dead session held is freed, closed until its delay is over.
Settled(l, a) == [Released(l, a) EXCEPT !.nb = a.nb]
\* lock.force: an operator takes it; its late requests find another counter.
Forced(l, a) == [Released(l, a) EXCEPT !.ctr = @ + 1, !.nb = a.nb]
\* lock.disown: given back after a doubt. lock.bar: a request that is under way is made to be refused.
Disowned(l, a) == [Released(l, a) EXCEPT !.ctr = @ + 1, !.freed = Greater(@, a.asked)]
CanBar(l, a) == l.st = "free" /\ l.n = a.on
Barred(l, a) == [l EXCEPT !.ctr = @ + 1, !.freed = Greater(@, Greater(a.at, a.asked)), !.n = a.n]
=============================================================================
