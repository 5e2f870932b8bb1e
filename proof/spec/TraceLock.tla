------------------------------ MODULE TraceLock ------------------------------
(***************************************************************************)
(* Lock rows as the simulator recorded them: the fields of an event, and   *)
(* what the specification allows it to do to the row l.                    *)
(***************************************************************************)
EXTENDS TraceSession

\* A row that is absent is free; one that was swept comes back with a counter above the one that is kept here.
\* Beside the fields of Rows: since when it is held, by its holder's clock.
NoLock == [st |-> "absent", ctr |-> 0, ses |-> NoOne, n |-> 0, freed |-> 0, nb |-> 0, since |-> 0]
LockEvent(r) ==
  [what |-> "lock", k |-> r[2], ok |-> r[3] = 1,
   a |-> [s |-> Ses(r[4]), o |-> Ses(r[5]), oc |-> r[6], on |-> r[7], n |-> r[8], at |-> r[9], before |-> r[10], nb |-> r[11],
          asked |-> r[12], own |-> r[13] = 1],
   y |-> IF r[3] = 0 THEN NoLock
         ELSE [st |-> r[14], ctr |-> r[15], ses |-> Ses(r[16]), n |-> r[17], freed |-> r[18], nb |-> r[19], since |-> r[20]]]

LockVerbs == {"lock.acquire", "lock.takeOver", "lock.release", "lock.settle", "lock.force", "lock.disown", "lock.bar", "lock.update"}
Free(l) == IF l.st = "absent" THEN [l EXCEPT !.st = "free"] ELSE l
LockGuard(l, e) ==
  CASE e.k = "lock.acquire" -> CanAcquire(Free(l), e.a)
    [] e.k = "lock.bar" -> CanBar(Free(l), e.a)
    [] e.k = "lock.update" -> IsHeldBy(l, e.a) /\ l.n = e.a.on
    [] OTHER -> IsHeldBy(l, e.a)
\* The counter of a row that was absent starts at the clock.
Seeded(l, e, want) == IF l.st = "absent" THEN [want EXCEPT !.ctr = e.y.ctr] ELSE want
\* No tenure ends before it began, though its holder's clock may have stepped back; in the models no clock steps.
Began(l, e) == [l EXCEPT !.since = e.a.at]
Gone(l) == [l EXCEPT !.freed = IF l.st = "held" THEN Greater(@, l.since) ELSE @]
LockAfter(l, e) ==
  CASE e.k = "lock.acquire" -> Seeded(l, e, Began(Acquired(l, e.a), e))
    [] e.k = "lock.bar" -> Seeded(l, e, Barred(Free(l), e.a))
    [] e.k = "lock.takeOver" -> Began(TakenOver(Gone(l), e.a), e)
    [] e.k = "lock.release" -> Released(Gone(l), e.a)
    [] e.k = "lock.settle" -> Settled(Gone(l), e.a)
    [] e.k = "lock.force" -> Forced(Gone(l), e.a)
    [] e.k = "lock.disown" -> Disowned(Gone(l), e.a)
    [] e.k = "lock.update" -> [l EXCEPT !.n = e.a.n]
\* No delay is read of a key that is held.
LockAgrees(want, y) == /\ want.st = y.st /\ want.ctr = y.ctr /\ want.ses = y.ses /\ want.n = y.n /\ want.freed = y.freed
                       /\ IF y.st = "held" THEN y.nb = 0 /\ want.since = y.since ELSE want.nb = y.nb
\* What its sender must have found. A holder may tidy up after itself; who takes over, or tidies up after another, has found its
\* session over, or has it itself by an acquire that was not answered. It waits for the lock-delay, or writes it down; that is
\* judged where the clocks keep their bound.
LockJudged(l, e, x, holds, skew) ==
  CASE e.k = "lock.acquire" -> e.a.before + skew <= e.a.at
    [] e.k = "lock.takeOver" -> e.a.s = e.a.o \/ (Over(x, e.a.o) /\ (holds => OpensAt(x[e.a.o[2]], skew) <= e.a.at))
    [] e.k = "lock.settle" -> e.a.own \/ (/\ Over(x, e.a.o)
                                          /\ holds => LET opens == OpensAt(x[e.a.o[2]], skew) IN opens <= e.a.at \/ opens <= e.a.nb + skew)
    [] OTHER -> TRUE
LockWrite(l, e, x, holds, skew) ==
  /\ e.k \in LockVerbs /\ LockGuard(l, e) /\ LockJudged(l, e, x, holds, skew) /\ LockAgrees(LockAfter(l, e), e.y)
  /\ e.y.ctr >= l.ctr /\ (e.k \in {"lock.acquire", "lock.takeOver"} => e.y.ctr > l.ctr)
LockAllows(l, e, x, holds, skew) == IF e.ok THEN LockWrite(l, e, x, holds, skew) ELSE ~LockGuard(l, e)
LockSwept(l) == l.st = "free"
\* After such a write the tenure no longer counts: its holder has given it back, or an operator has taken it, of which the holder
\* learns later.
LockCloses(e) == e.k \in {"lock.release", "lock.force", "lock.disown"} \/ (e.k = "lock.settle" /\ e.a.own)
=============================================================================
