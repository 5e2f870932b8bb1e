------------------------------- MODULE Holder -------------------------------
(***************************************************************************)
(* Sessions and those who hold them, their clocks, their requests and the  *)
(* network: what tasks and locks have in common. The row that is held, and *)
(* the verbs that write it, come from Task or Lock.                        *)
(*                                                                         *)
(* Time has no clock variable. Every instant is its distance from now, and *)
(* Tick lowers all of them down to where they no longer matter. So time    *)
(* has no end, behaviours may go round, and liveness can be checked.       *)
(* The wall clock of worker w is ahead of true time by off[w], between 0   *)
(* and Skew: two clocks differ by Skew at most.                            *)
(*                                                                         *)
(* A request whose channel is in Late may be late, twice or lost, and its  *)
(* answer may be lost; any other is applied and answered as it is sent. An *)
(* answer comes with the write or never: a late answer is a worker that    *)
(* pauses, and a pause is a worker that does nothing while time passes.    *)
(***************************************************************************)
EXTENDS Rows, FiniteSets, TLC
CONSTANTS
  Workers,       \* model values, so that they are symmetric
  TTL, Skew,     \* a session's length, and the bound on clocks, in ticks
  Delay,         \* lock-delay, in ticks; 0 for workers of tasks
  Incs,          \* sessions that each worker has, one after another
  Late,          \* channels that are late: of {"beat", "work"}
  MaxNet,        \* requests under way at once
  Copies,        \* attempts of one request under way at once
  Faults,        \* budget of losses, crashes and ends by force; 99: without end
  Timely,        \* whether time that passes while someone could act is a fault too: for liveness
  Force,         \* whether an operator may end a session
  Stale,         \* whether a contender may act on what it read earlier
  Broken,        \* switches that break the protocol; {} is the protocol
  TimedVerbs,    \* verbs whose statement holds an instant
  RowInit,       \* the row at first
  RowGuard(_, _),         \* of a row and a request: whether the store accepts it
  RowAfter(_, _),         \* of a row and a request: the row then
  RowOlder(_),            \* the row, a tick later
  RowDone(_),             \* whether the row offers nothing more: sessions are not kept alive any longer
  Client(_, _, _, _),     \* a worker's state when it is told: worker, request, accepted, row
  GaveUp(_, _),           \* a worker's state when its budget for a request is over: worker, request
  WrongRow(_, _)          \* of a row and an accepted request: the invariants that it breaks
VARIABLES off, sess, row, net, p, budget, seen
vars == <<off, sess, row, net, p, budget, seen>>

B(switch) == switch \in Broken
Sids == Workers \X (1..Incs)
NoReq == [k |-> "-"]
Past  == 0 - (Skew + Delay + 1)              \* an expiry as old as this is over by every clock
LongPast == 0 - (Skew + TTL + 2 * Delay + 1) \* a reading as old as this gives no one any time
Sym == Permutations(Workers)

(* A nonce is its writer and a number that it has in use nowhere: the states stay finitely many. What is written as it *)
(* is sent has no attempts, so its nonce may be that which it writes over, unless a request remembers that one.         *)
NoNonce == <<"-", "-", 0>>
NoncesOf(q) == IF q = NoReq THEN {} ELSE {q.n, q.on, q.rn}
Remembered == UNION {NoncesOf(m.r) : m \in net}
              \cup UNION {NoncesOf(p[w].req) \cup NoncesOf(p[w].beat) \cup NoncesOf(p[w].plan) : w \in Workers}
Written == {row.n} \cup UNION {{sess[s].n, sess[s].rn} : s \in Sids} \cup {p[w].ln : w \in Workers}
Fresh(w, channel) == LET used == Remembered \cup IF channel \in Late THEN Written ELSE {} IN
                     <<w, channel, CHOOSE i \in 1..12 : <<w, channel, i>> \notin used>>

(* A worker: pc (none, idle, running, parked), inc (its session's number), age (of its trust window: ticks since the  *)
(* last accepted renewal was sent), ln (nonce of that), req and beat (requests that it awaits), plan (what it read and *)
(* has not acted on), ctr and seq (of its claim), obs (the counter of the lock when it last saw it free), ack            *)
(* (progress it was told of), told (its completion is done), doubt (a claim may have been applied without its knowing),  *)
(* asked (when, of a lock).                                                                                              *)
Idle == [pc |-> "none", inc |-> 0, age |-> TTL, ln |-> NoNonce, req |-> NoReq, beat |-> NoReq, plan |-> NoReq,
         ctr |-> 0, seq |-> 0, obs |-> -1, ack |-> 0, told |-> FALSE, doubt |-> FALSE, asked |-> LongPast]
sid(w) == <<w, p[w].inc>>
\* The window opens before the request was sent, and belief is computed when asked.
Believes(w) == p[w].pc # "none" /\ (B("longTrust") \/ p[w].age < TTL)
Trusts(w) == p[w].pc # "none" /\ (B("noBelief") \/ Believes(w))
Lost(q) == [Idle EXCEPT !.inc = q.inc, !.told = q.told]
At(w) == off[w]     \* its reading of its own wall clock, now

\* Only differences of clocks matter, so the slowest may be right.
Init == /\ off \in {o \in [Workers -> 0..Skew] : \E w \in Workers : o[w] = 0}
        /\ sess = [s \in Sids |-> [st |-> "absent", exp |-> Past, rn |-> NoNonce, n |-> NoNonce, why |-> "-", inv |-> LongPast]]
        /\ row = RowInit
        /\ net = {} /\ budget = Faults
        /\ p = [w \in Workers |-> Idle]
        /\ seen = [effects |-> 0, wrong |-> {}, owed |-> 0]

Endless == Faults = 99
Pay == budget > 0 /\ budget' = IF Endless THEN budget ELSE budget - 1

-----------------------------------------------------------------------------
(* The store: one conditional write, or none. A switch that drops a comparison compares the row with itself. *)

SessionOf(r) == IF r.k = "renew" THEN r.s ELSE r.o
IsSessionVerb(r) == r.k \in {"renew", "expire"}
Bound == IF B("noSkew") THEN 0 ELSE Skew
Loose(r, x) ==
  CASE r.k = "renew" -> [r EXCEPT !.on = IF B("renewBlind") THEN x.n ELSE @, !.at = IF B("renewLate") THEN Lesser(@, x.exp - 1) ELSE @]
    [] r.k = "expire" -> [r EXCEPT !.rn = IF B("expireUnseen") THEN x.rn ELSE @, !.before = IF B("expireUntimed") THEN x.exp ELSE @]
SessionGuard(r) ==
  LET x == sess[SessionOf(r)] IN
  IF r.k = "renew" THEN CanRenew([x EXCEPT !.st = IF B("revive") /\ @ = "invalid" THEN "live" ELSE @], Loose(r, x))
  ELSE CanExpire(x, Loose(r, x))
\* No guard reads the nonces of a session that is over, nor its instants where there is no lock-delay: they are wiped,
\* so that states which differ in these alone are one.
Over(x) == [x EXCEPT !.n = NoNonce, !.rn = NoNonce, !.exp = IF (Delay = 0 /\ x.why = "expired") \/ @ < Past \/ x.why = "ended" THEN Past ELSE @,
                     !.inv = IF Delay = 0 \/ x.why = "ended" THEN LongPast ELSE @]
SessionAfter(r) ==
  LET x == sess[SessionOf(r)] IN
  IF r.k = "renew" THEN [Renewed(x, r) EXCEPT !.st = "live", !.exp = Greater(@, Past)]
  ELSE Over(Invalidated(x, r))
Guard(r) == IF IsSessionVerb(r) THEN SessionGuard(r) ELSE RowGuard(row, r)
\* I6: a session is not ended by expiry while its holder may believe. I4: none comes back.
WrongSession(r) ==
  LET x == sess[SessionOf(r)] IN
  (IF r.k = "expire" /\ x.exp > off[r.o[1]] THEN {"I6"} ELSE {}) \cup (IF r.k = "renew" /\ x.st = "invalid" THEN {"I4"} ELSE {})
\* I7: how long the keys of a session are still closed, in true time, when it ends: the delay counted from the end of its holder's trust.
OwedAfterExpiry(s) == IF Delay = 0 THEN 0 ELSE Greater(0, sess[s].exp - off[s[1]] + Delay)
Write(r, ok) ==
  /\ sess' = IF ok /\ IsSessionVerb(r) THEN [sess EXCEPT ![SessionOf(r)] = SessionAfter(r)] ELSE sess
  /\ row' = IF ok /\ ~IsSessionVerb(r) THEN RowAfter(row, r) ELSE row
  /\ seen' = IF ~ok THEN seen
             ELSE [effects |-> IF r.k = "done" THEN Lesser(seen.effects + 1, 2) ELSE seen.effects,
                   wrong |-> seen.wrong \cup (IF IsSessionVerb(r) THEN WrongSession(r) ELSE WrongRow(row, r))
                             \cup (IF row'.ctr > row.ctr /\ row'.ses # NoOne /\ seen.owed > 0 THEN {"I7"} ELSE {}),
                   owed |-> IF r.k = "expire" /\ r.o = row.ses THEN OwedAfterExpiry(r.o)
                            ELSE IF row'.ctr > row.ctr \/ r.k = "release" THEN 0 ELSE seen.owed]

\* What its sender makes of the answer. Refused by its own nonce: an earlier attempt was applied.
NonceFound(r) == IF IsSessionVerb(r) THEN sess[SessionOf(r)].n ELSE row.n
Answer(r, ok) == ok \/ (~B("noNonce") /\ NonceFound(r) = r.n) \/ (B("guessYes") /\ r.k # "renew")
Told(q, r, ok) ==
  CASE r.k = "renew" /\ ok -> [q EXCEPT !.beat = NoReq, !.ln = r.n, !.age = IF B("openLate") THEN 0 ELSE Lesser(off[r.w] - r.at, TTL)]
    [] r.k = "renew" /\ ~ok -> IF B("deafBeat") THEN [q EXCEPT !.beat = NoReq] ELSE Lost(q)
    [] r.k = "expire" -> [q EXCEPT !.req = NoReq]
    [] OTHER -> Client(q, r, ok, row')
Awaited(r) == r \in {p[r.w].req, p[r.w].beat}

-----------------------------------------------------------------------------
(* What workers do with their sessions. *)

\* Creating is atomic here: its doubt is that of a renewal.
Create(w) ==
  /\ p[w].pc = "none" /\ p[w].inc < Incs /\ ~p[w].told /\ ~RowDone(row)
  /\ LET s == <<w, p[w].inc + 1>>
         fresh == Fresh(w, "beat")
         a == [at |-> At(w), ttl |-> TTL, nrn |-> fresh, n |-> fresh] IN
     /\ CanCreate(sess[s]) /\ sess' = [sess EXCEPT ![s] = Created(@, a)]
     /\ p' = [p EXCEPT ![w] = [@ EXCEPT !.pc = "idle", !.inc = @ + 1, !.age = 0, !.ln = a.n]]
  /\ UNCHANGED <<off, row, net, budget, seen>>

\* A request: verb, worker, session, its own nonce, its clock; and what it observed: session, counter, nonce, renewals.
Req(k, w, channel) ==
  LET fresh == Fresh(w, channel) IN
  [k |-> k, w |-> w, s |-> sid(w), n |-> fresh, nrn |-> fresh, at |-> IF k \in TimedVerbs THEN At(w) ELSE 0,
   ttl |-> TTL, before |-> IF k \in TimedVerbs THEN At(w) - Bound ELSE 0, o |-> NoOne, oc |-> -1, on |-> NoNonce, rn |-> NoNonce,
   c |-> p[w].ctr, seq |-> 0, why |-> "expired", due |-> LongPast, nb |-> LongPast, asked |-> LongPast]
Send(w, channel, r) ==
  LET q == [p[w] EXCEPT !.plan = NoReq, !.asked = IF r.k = "acquire" THEN r.at ELSE @] IN
  IF channel \in Late
  THEN /\ Cardinality(net) < MaxNet /\ net' = net \cup {[r |-> r, copies |-> 1]}
       /\ p' = [p EXCEPT ![w] = IF channel = "beat" THEN [q EXCEPT !.beat = r] ELSE [q EXCEPT !.req = r]]
       /\ UNCHANGED <<off, sess, row, budget, seen>>
  ELSE /\ Write(r, Guard(r)) /\ p' = [p EXCEPT ![w] = Told(q, r, Guard(r))]
       /\ UNCHANGED <<off, net, budget>>
Work(w, r) == Send(w, "work", r)
\* A contender reads, and acts: at once, or, where reads are stale, later and by a later clock.
Contend(w, r) ==
  IF Stale THEN p[w].plan = NoReq /\ p' = [p EXCEPT ![w].plan = [r EXCEPT !.n = NoNonce, !.nrn = NoNonce, !.at = 0, !.before = 0]]
                /\ UNCHANGED <<off, sess, row, net, budget, seen>>
  ELSE Work(w, r)
CanAct(w, pc) == p[w].pc = pc /\ p[w].req = NoReq /\ Trusts(w)
Go(w) == /\ CanAct(w, "idle") /\ p[w].plan # NoReq
         /\ LET now == Req(p[w].plan.k, w, "work") IN
            Work(w, [p[w].plan EXCEPT !.n = now.n, !.nrn = now.nrn, !.at = now.at, !.before = now.before])

Renew(w) == /\ Trusts(w) /\ p[w].beat = NoReq /\ p[w].age >= 1 /\ ~RowDone(row)
            /\ Send(w, "beat", [Req("renew", w, "beat") EXCEPT !.on = p[w].ln])
IsDeadTo(w, s) == LooksExpired(sess[s], At(w), Bound)
Expire(w) == /\ CanAct(w, "idle") /\ row.ses \notin {NoOne, sid(w)} /\ IsDeadTo(w, row.ses)
             /\ Contend(w, [Req("expire", w, "work") EXCEPT !.o = row.ses, !.rn = sess[row.ses].rn])
\* Another attempt of the same statement, with the same nonce, while its sender believes.
Resend(w) ==
  /\ Trusts(w)
  /\ \E r \in {p[w].req, p[w].beat} \ {NoReq} :
       \/ \E m \in net : m.r = r /\ m.copies < Copies /\ net' = (net \ {m}) \cup {[m EXCEPT !.copies = @ + 1]}
       \/ (\A m \in net : m.r # r) /\ Cardinality(net) < MaxNet /\ net' = net \cup {[r |-> r, copies |-> 1]}
  /\ UNCHANGED <<off, sess, row, p, budget, seen>>
\* The budget of a statement is over while the session lives: its outcome is unknown.
GiveUp(w) == /\ p[w].req # NoReq /\ Believes(w) /\ Pay /\ p' = [p EXCEPT ![w] = GaveUp(@, @.req)]
             /\ UNCHANGED <<off, sess, row, net, seen>>
\* It finds its trust over, and stops; or it dies.
Stop(w) == /\ p[w].pc # "none" /\ ~Believes(w) /\ ~B("noBelief") /\ p' = [p EXCEPT ![w] = Lost(@)]
           /\ UNCHANGED <<off, sess, row, net, budget, seen>>
Crash(w) == /\ p[w].pc # "none" /\ p[w].inc < Incs /\ Pay /\ p' = [p EXCEPT ![w] = Lost(@)]
            /\ UNCHANGED <<off, sess, row, net, seen>>
EndOf(s, why, at) == [sess EXCEPT ![s] = Over(Invalidated(@, [at |-> at, why |-> why, n |-> NoNonce]))]
\* A worker that parked what it could not settle goes home, and with its session's end the row is free.
Leave(w) == /\ p[w].pc = "parked" /\ CanInvalidate(sess[sid(w)])
            /\ sess' = EndOf(sid(w), "ended", At(w)) /\ p' = [p EXCEPT ![w] = Lost(@)]
            /\ UNCHANGED <<off, row, net, budget, seen>>
\* An operator ends a session by force, by a clock within the bound. Its holder learns of it with its next heartbeat.
Destroy == /\ Force /\ Pay /\ \E s \in Sids, at \in (0 - Skew)..Skew :
             /\ \A w \in Workers : off[w] - at <= Skew
             /\ CanInvalidate(sess[s]) /\ sess' = EndOf(s, "destroyed", at)
             /\ seen' = [seen EXCEPT !.owed = IF s = row.ses THEN Delay ELSE @]
           /\ UNCHANGED <<off, row, net, p>>

-----------------------------------------------------------------------------
(* The network, and time. *)

Without(m) == (net \ {m}) \cup (IF m.copies = 1 THEN {} ELSE {[m EXCEPT !.copies = @ - 1]})
Arrive == \E m \in net :
  /\ net' = Without(m) /\ Write(m.r, Guard(m.r))
  /\ p' = IF Awaited(m.r) THEN [p EXCEPT ![m.r.w] = Told(@, m.r, Answer(m.r, Guard(m.r)))] ELSE p
  /\ UNCHANGED <<off, budget>>
\* Applied, and the answer is lost.
ArriveMute == \E m \in net : /\ Awaited(m.r) /\ Guard(m.r) /\ Pay /\ net' = Without(m) /\ Write(m.r, TRUE) /\ UNCHANGED <<off, p>>
GetLost == \E m \in net : Pay /\ net' = Without(m) /\ UNCHANGED <<off, sess, row, p, seen>>

\* A saturated instant must stay on its side of what it is compared with: an expire stays acceptable while no one has
\* renewed (its renewals say so, and then the expiry saturates with it), an acquire that is too late stays too late.
Older(r) == IF r = NoReq \/ r.k \notin TimedVerbs THEN r
            ELSE [r EXCEPT !.at = Greater(@ - 1, LongPast), !.nb = Greater(@ - 1, LongPast), !.asked = Greater(@ - 1, LongPast),
                           !.before = Greater(@ - 1, IF r.k = "expire" THEN Past ELSE LongPast - Skew)]
Tick(isBusy) ==
  /\ IF isBusy THEN Pay ELSE budget' = budget
  /\ sess' = [s \in Sids |-> [sess[s] EXCEPT !.exp = Greater(@ - 1, Past), !.inv = Greater(@ - 1, LongPast)]]
  /\ row' = RowOlder(row)
  /\ net' = {[m EXCEPT !.r = Older(@)] : m \in net}
  /\ p' = [w \in Workers |-> [p[w] EXCEPT !.age = Lesser(@ + 1, TTL), !.req = Older(@), !.beat = Older(@),
                                   !.asked = Greater(@ - 1, LongPast)]]
  /\ seen' = [seen EXCEPT !.owed = Greater(@ - 1, 0)]
  /\ UNCHANGED off

-----------------------------------------------------------------------------
(* What must hold of sessions. *)

IsForced(w) == sess[sid(w)].why = "destroyed"
\* A holder that has sent its last request relies on nothing any more.
Relies(w) == p[w].pc = "running" /\ p[w].req = NoReq /\ Believes(w)
I1_Exclusion == Cardinality({w \in Workers : Relies(w)}) <= 1
I1b_Sent == [][\A w \in Workers : (p[w].req = NoReq /\ p'[w].req # NoReq) \/ (p[w].beat = NoReq /\ p'[w].beat # NoReq) => Believes(w)]_vars
I4_Final == "I4" \notin seen.wrong
I6_LowerBound == "I6" \notin seen.wrong
I8_Live == \A w \in Workers : Believes(w) => (sess[sid(w)].st = "live" \/ IsForced(w))
Spent == \A w \in Workers : p[w].inc = Incs /\ p[w].pc = "none"
=============================================================================
