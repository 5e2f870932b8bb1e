-------------------------------- MODULE Lock --------------------------------
(***************************************************************************)
(* One lock and those who contend for it: acquire, release, take over from *)
(* a session that is over once its lock-delay has passed, settle (free the *)
(* key of a dead session and write down until when it is closed), and what *)
(* a session does in doubt: disown what it may hold, or bar a request that *)
(* is still under way. An election is a lock: the leader is its holder,    *)
(* and the term is its counter.                                            *)
(*                                                                         *)
(* Left out: values and their deletion, several keys at once, and          *)
(* lock.force, which is a session's end by force for one key.              *)
(***************************************************************************)
EXTENDS Holder
CONSTANT MaxClaims   \* tenures that the lock sees

Beat == 1            \* the longest heartbeat, in ticks
LockInit == [st |-> "free", ctr |-> 0, ses |-> NoOne, n |-> NoNonce, freed |-> LongPast, nb |-> LongPast]
LockTimed == {"renew", "expire", "acquire", "take", "release", "settle", "disown", "bar"}
LockOlder(l) == [l EXCEPT !.freed = Greater(@ - 1, LongPast), !.nb = Greater(@ - 1, LongPast)]

LockDone(l) == l.st = "free" /\ l.ctr >= MaxClaims

-----------------------------------------------------------------------------
(* The store. *)

LockLoose(l, r) ==
  [r EXCEPT !.o = IF B("heldByAnyone") /\ r.k = "release" THEN l.ses ELSE @,
            !.oc = IF (B("heldSinceAny") /\ r.k \in {"release", "take"}) \/ (B("touched") /\ r.k = "acquire") THEN l.ctr ELSE @,
            !.on = IF B("barsAny") THEN l.n ELSE @]
LockGuard(l, request) ==
  LET r == LockLoose(l, request) IN
  CASE r.k = "acquire" -> CanAcquire(l, r) \/ (B("opensEarly") /\ l.st = "free" /\ r.oc = l.ctr)
    [] r.k = "bar" -> CanBar(l, r)
    [] OTHER -> IsHeldBy(l, r)
Kept(l, was) == IF B("sameToken") THEN [l EXCEPT !.ctr = was.ctr] ELSE l
LockAfter(l, r) ==
  CASE r.k = "acquire" -> Kept(Acquired(l, r), l)
    [] r.k = "take" -> Kept(TakenOver(l, r), l)
    [] r.k = "release" -> [Released(l, r) EXCEPT !.ctr = IF B("deletes") THEN 0 ELSE @]
    [] r.k = "settle" -> Settled(l, [r EXCEPT !.nb = IF B("settlesOpen") THEN LongPast ELSE @])
    [] r.k = "disown" -> Disowned(l, r)
    [] r.k = "bar" -> [Barred(l, r) EXCEPT !.ctr = IF B("barsInName") THEN l.ctr ELSE @, !.freed = IF B("barsInName") THEN l.freed ELSE @]
LockWrong(l, r) ==
  (IF LockAfter(l, r).ctr < l.ctr \/ (r.k \in {"acquire", "take"} /\ LockAfter(l, r).ctr = l.ctr) THEN {"I3"} ELSE {})
  \cup (IF r.k = "release" /\ (l.ses # r.s \/ l.ctr # r.c) THEN {"I5"} ELSE {})

-----------------------------------------------------------------------------
(* What a contender makes of an answer, and of none. When it asked, it remembers for as long as it is in doubt. *)

Asked(q) == IF q.doubt THEN q.asked ELSE LongPast
AtRest(q) == [q EXCEPT !.req = NoReq, !.pc = "idle", !.ctr = 0, !.asked = Asked(q)]
LockClient(q, r, ok, l) ==
  CASE r.k \in {"acquire", "take"} /\ ok -> [q EXCEPT !.req = NoReq, !.pc = "running", !.ctr = l.ctr, !.obs = -1, !.asked = Asked(q)]
    [] r.k \in {"disown", "bar"} /\ ok -> AtRest([q EXCEPT !.doubt = FALSE])
    \* A refusal brings the row that refused: the next acquire names the counter of the row that is free.
    [] r.k = "acquire" /\ ~ok /\ l.st = "free" /\ ~B("forgets") -> [AtRest(q) EXCEPT !.obs = l.ctr]
    [] OTHER -> AtRest(q)
\* It does not know whether it holds the key, or will: it is in doubt until a write of its own has settled that.
LockGaveUp(q, r) ==
  AtRest([q EXCEPT !.doubt = q.doubt \/ (r.k \in {"acquire", "take", "release", "disown", "bar"} /\ ~B("noDoubt"))])

-----------------------------------------------------------------------------
(* What a contender does. *)

\* The first acquire names no counter, a later one that of the row which refused it, or which it has read; before the
\* delay that it has seen is over, it does not ask again.
Acquire(w) == /\ CanAct(w, "idle") /\ ~p[w].doubt /\ row.st = "free" /\ row.ctr < MaxClaims
              /\ p[w].obs = row.ctr => row.nb <= At(w) - Skew
              /\ \E seenCounter \in {p[w].obs, row.ctr} :
                   Work(w, [Req("acquire", w, "work") EXCEPT !.oc = seenCounter, !.before = IF B("touchSkew") THEN At(w) ELSE @])
Delays == IF B("noDelay") THEN 0 ELSE Delay
Opened(w, s) == (B("forcedEarly") /\ sess[s].why = "destroyed" /\ sess[s].inv + Delay + Skew <= At(w)) \/ IsOpen(sess[s], At(w), Delays, Beat, IF B("delaySkew") THEN 0 ELSE Skew)
IsAbandoned(w) == CanAct(w, "idle") /\ row.st = "held" /\ row.ses # sid(w) /\ (IsOver(sess[row.ses]) \/ B("takeLive"))
TakeOver(w) == /\ IsAbandoned(w) /\ ~p[w].doubt /\ row.ctr < MaxClaims /\ (Opened(w, row.ses) \/ B("takeLive"))
               /\ Work(w, [Req("take", w, "work") EXCEPT !.o = row.ses, !.oc = row.ctr])
OpensAt(x) == CASE x.why = "expired" -> OpenAfterExpiry(x, Delay, Beat, Skew)
                [] x.why = "destroyed" -> IF B("forcedEarly") THEN x.inv + Delay + Skew ELSE OpenAfterForce(x, Delay, Skew)
                [] OTHER -> LongPast
Settle(w) == /\ IsAbandoned(w) /\ ~B("takeLive")
             /\ Work(w, [Req("settle", w, "work") EXCEPT !.o = row.ses, !.oc = row.ctr, !.nb = Greater(OpensAt(sess[row.ses]), LongPast)])
Release(w) == CanAct(w, "running") /\ Work(w, [Req("release", w, "work") EXCEPT !.o = sid(w), !.oc = p[w].ctr])
Disown(w) == /\ CanAct(w, "idle") /\ p[w].doubt /\ row.st = "held" /\ row.ses = sid(w)
             /\ Work(w, [Req("disown", w, "work") EXCEPT !.o = sid(w), !.oc = row.ctr, !.asked = p[w].asked])
Bar(w) == /\ CanAct(w, "idle") /\ p[w].doubt /\ row.st = "free"
          /\ Work(w, [Req("bar", w, "work") EXCEPT !.on = row.n, !.asked = p[w].asked])

Step(w) == \/ Create(w) \/ Renew(w) \/ Stop(w)
           \/ Acquire(w) \/ Release(w) \/ Expire(w) \/ TakeOver(w) \/ Settle(w) \/ Disown(w) \/ Bar(w)
IsBusy == ENABLED (Arrive \/ \E w \in Workers : Step(w) \/ Resend(w))
Time == Tick(IF Timely THEN IsBusy ELSE FALSE)
Next == Time \/ Arrive \/ ArriveMute \/ GetLost \/ Destroy \/ \E w \in Workers : Step(w) \/ Resend(w) \/ GiveUp(w) \/ Crash(w)
Spec == Init /\ [][Next]_vars
Fair == Spec /\ WF_vars(Time) /\ WF_vars(Arrive) /\ \A w \in Workers : WF_vars(Step(w)) /\ WF_vars(Resend(w))

-----------------------------------------------------------------------------
(* What must hold. Numbers are those of ARCHITECTURE. *)

I0_Told == \A w \in Workers : Relies(w) /\ ~IsForced(w) => row.st = "held" /\ row.ses = sid(w) /\ row.ctr = p[w].ctr
I3_Tokens == "I3" \notin seen.wrong
\* No session releases another's; and a session that holds the key without knowing is in doubt, and will give it back.
I5_NoOrphan == /\ "I5" \notin seen.wrong
               /\ \A w \in Workers :
                    row.st = "held" /\ p[w].pc = "idle" /\ p[w].req = NoReq /\ ~p[w].doubt /\ Believes(w) => row.ses # sid(w)
\* Counted in true time: after an expiry from the end of the holder's trust, after an end by force from the write.
I7_LockDelay == "I7" \notin seen.wrong
\* A held key is free or another's some day, and a free one is held, unless all have used up their sessions.
Moves == row.ctr >= MaxClaims \/ Spent
IsFreed == [](row.st = "held" => <>(row.st = "free" \/ Moves))
IsTaken == [](row.st = "free" => <>(row.st = "held" \/ Moves))
=============================================================================
