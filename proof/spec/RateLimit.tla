----------------------------- MODULE RateLimit ------------------------------
(***************************************************************************)
(* A token bucket and those who take from it. A token is worth one tick of *)
(* the flow, and Burst of them fit in. As in Holder.tla, every instant is  *)
(* its distance from now, and Tick lowers all of them; the clock of w is   *)
(* ahead of true time by p[w].off, fixed for a behaviour.                  *)
(*                                                                         *)
(* A taker stops waiting for its answer after Patience ticks. What it was  *)
(* not told of counts for nothing: those tokens are gone.                  *)
(*                                                                         *)
(* Left out: the sweep (a bucket without a row is a full one), takers that *)
(* disagree about the rate, and requests that arrive more than a tick      *)
(* after their sender has given up.                                        *)
(***************************************************************************)
EXTENDS Requests, SharedRows
CONSTANTS Burst, Skew, Patience
VARIABLE level     \* of tokens that went out, less those that flowed in since: the most in any span of time
rate == <<db, net, p, budget, wrong, level>>

\* As old as this is full by every clock, and to every request.
Low == 0 - (Burst + Patience + 3)
BucketInit == [st |-> "absent", empty |-> Low, n |-> 0]
TakerStart(w) == [inc |-> 0, busy |-> FALSE, off |-> 0, full |-> FALSE]

-----------------------------------------------------------------------------
(* The store. A switch that drops a comparison compares the row with itself. *)

Loose(b, r) == [r EXCEPT !.enough = IF B("noEnough") THEN Greater(@, b.empty) ELSE @,
                         !.full = IF B("overflows") THEN Lesser(@, b.empty) ELSE @, !.n = IF B("takesTwice") THEN 0 - 1 ELSE @]
BucketAccepts(b, r) ==
  IF r.k = "take" THEN CanTake(b, Loose(b, r))
  ELSE IF B("fullBlind") THEN TRUE ELSE CanTakeFull(b, r)
BucketAfter(b, r) == IF r.k = "take" THEN Took(b, r) ELSE TookFull(b, r)
\* A copy that comes next takes once more, or the bucket is fuller than before.
BucketWrong(b, r) == (IF b.n = r.n THEN {"twice"} ELSE {})
                     \cup (IF b.st = "there" /\ BucketAfter(b, r).empty <= b.empty THEN {"filled"} ELSE {})

-----------------------------------------------------------------------------
(* Takers. *)

\* What they are told is about a row that took them, now or by an earlier attempt.
Has(b, r) == b.n = r.n
TakerTold(q, r, ok, b) == IF Has(b, r) THEN [q EXCEPT !.full = FALSE]
                          ELSE [q EXCEPT !.full = b.st = "absent" \/ b.empty < r.full]
TakerGaveUp(q, r) == [q EXCEPT !.full = FALSE]
Req(w, k, cost) ==
  LET at == p[w].off IN
  [k |-> k, s |-> NoOne, n |-> Fresh({db.n}), on |-> 0, heard |-> TRUE, cost |-> cost,
   full |-> at - Burst, enough |-> at - cost, age |-> 0]
Take(w) == /\ Idle(w) /\ ~p[w].full /\ UNCHANGED level /\ \E cost \in 1..Burst : Send(w, Req(w, "take", cost))
TakeFromFull(w) == /\ Idle(w) /\ p[w].full /\ UNCHANGED level /\ \E cost \in 1..Burst : Send(w, Req(w, "full", cost))

\* Tokens go to the taker that is told.
Answered(w) == /\ Hear(w)
               /\ LET m == CHOOSE m \in net : m \notin net' IN level' = level + (IF Has(db', m) THEN m.cost ELSE 0)
Muted == ArriveMute /\ UNCHANGED level
Gone == GetLost /\ UNCHANGED level
Repeated == Repeat /\ UNCHANGED level
Left(w) == GiveUp(w) /\ UNCHANGED level
Older(m) == [m EXCEPT !.full = @ - 1, !.enough = @ - 1, !.age = @ + 1]
Tick == /\ \A m \in net : m.heard => m.age < Patience
        /\ db' = [db EXCEPT !.empty = Greater(Low, @ - 1)]
        /\ net' = {Older(m) : m \in {m \in net : m.age <= Patience}}
        /\ level' = Greater(0, level - 1) /\ UNCHANGED <<p, budget, wrong>>

Clocks == {o \in [Workers -> 0..Skew] : \E w \in Workers : o[w] = 0}
RateInit == /\ db = BucketInit /\ net = {} /\ budget = Faults /\ wrong = {} /\ level = 0
            /\ \E o \in Clocks : p = [w \in Workers |-> [TakerStart(w) EXCEPT !.off = o[w]]]
RateNext == Muted \/ Gone \/ Repeated \/ Tick \/ \E w \in Workers : Answered(w) \/ Left(w) \/ Take(w) \/ TakeFromFull(w)
Spec == RateInit /\ [][RateNext]_rate

-----------------------------------------------------------------------------
\* RATE: in any span of time go Burst tokens, those that flow in during it, and those that flow in while clocks differ and
\* while a take is under way.
RATE_Level == level <= Burst + Skew + (IF B("noTransit") THEN 0 ELSE Patience)
RATE_Once == "twice" \notin wrong
RATE_Grows == "filled" \notin wrong
=============================================================================
