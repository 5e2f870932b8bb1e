------------------------------ MODULE Schedule ------------------------------
(***************************************************************************)
(* Ticks and a recurring schedule. A dispatcher takes the tick it was      *)
(* started by, once however often that is delivered; then one transaction  *)
(* makes a task of the slot that is due and advances the schedule. If the  *)
(* id of that task is taken, the schedule is advanced alone. A tick may    *)
(* come late, twice or never, and a dispatcher may die anywhere. Somebody  *)
(* else may add a task with the id of a slot.                              *)
(*                                                                         *)
(* Left out: slots that a policy leaves out, pauses, and the sweep of      *)
(* ticks and tasks. That tasks of a schedule take turns is Line.tla.       *)
(***************************************************************************)
EXTENDS Requests, QueueRows
CONSTANT Slots    \* of the schedule; all are due

\* tick: the session that took the present one. made: how often each slot became a task.
ScheduleInit == [tick |-> NoOne, next |-> 1, n |-> 0, made |-> [k \in 1..Slots |-> 0]]
\* pc: out, took (the tick is its own), made (the task of its slot was there). plan: the slot, and the nonce it was read with.
DispatcherStart(w) == [inc |-> 0, busy |-> FALSE, pc |-> "out", slot |-> 0, on |-> 0]

-----------------------------------------------------------------------------
(* The store. *)

SlotRow(x, k) == IF x.made[k] = 0 THEN "absent" ELSE "there"
ScheduleAccepts(x, r) ==
  CASE r.k = "tick" -> B("ticksTwice") \/ IsAbsent(IF x.tick = NoOne THEN "absent" ELSE "there")
    [] r.k = "make" -> /\ B("makesTwice") \/ IsAbsent(SlotRow(x, r.slot))
                       /\ B("advanceBlind") \/ CanAdvanceSchedule(x, r)
    [] r.k = "advance" -> B("advanceBlind") \/ CanAdvanceSchedule(x, r)
ScheduleAfter(x, r) ==
  CASE r.k = "tick" -> [x EXCEPT !.tick = r.s]
    [] r.k = "make" -> [tick |-> x.tick, made |-> [x.made EXCEPT ![r.slot] = Lesser(@ + 1, 2)]]
                       @@ ScheduleAdvanced([next |-> x.next, n |-> x.n], r)
    [] r.k = "advance" -> [tick |-> x.tick, made |-> x.made] @@ ScheduleAdvanced([next |-> x.next, n |-> x.n], r)
\* A tick that was taken is taken again, or the schedule goes back.
ScheduleWrong(x, r) == (IF r.k = "tick" /\ x.tick # NoOne /\ x.tick # r.s THEN {"tick"} ELSE {})
                       \cup (IF r.k \in {"make", "advance"} /\ r.next < x.next THEN {"back"} ELSE {})

-----------------------------------------------------------------------------
(* Dispatchers. *)

\* A tick that is its own by an earlier attempt is its own.
DispatcherTold(q, r, ok, x) ==
  CASE r.k = "tick" -> [q EXCEPT !.pc = IF x.tick = r.s THEN "took" ELSE "out"]
    [] r.k = "make" /\ ~ok /\ x.made[r.slot] > 0 /\ x.n = r.on -> [q EXCEPT !.pc = "made"]
    [] r.k = "make" -> [q EXCEPT !.slot = 0, !.on = 0]
    [] r.k = "advance" -> [q EXCEPT !.pc = "took", !.slot = 0, !.on = 0]
DispatcherGaveUp(q, r) == q
Req(k) == [k |-> k, s |-> NoOne, n |-> 0, on |-> 0, heard |-> TRUE, slot |-> 0, next |-> 0]
TakeTick(w) == Idle(w) /\ p[w].pc = "out" /\ db.tick = NoOne /\ Send(w, Req("tick"))
Look(w) == /\ Idle(w) /\ p[w].pc = "took" /\ p[w].slot = 0 /\ db.next <= Slots
           /\ Becomes(w, [p[w] EXCEPT !.slot = db.next, !.on = db.n, !.pc = IF B("advancesFirst") THEN "made" ELSE "took"])
Step(w, k) == Send(w, [Req(k) EXCEPT !.slot = p[w].slot, !.on = p[w].on, !.next = p[w].slot + 1,
                       !.n = Fresh({db.n} \cup {p[v].on : v \in Workers})])
Make(w) == Idle(w) /\ p[w].pc = "took" /\ p[w].slot # 0 /\ Step(w, "make")
Advance(w) == Idle(w) /\ p[w].pc = "made" /\ Step(w, "advance")
\* The next tick, also while a dispatcher of the last one is at work.
NewTick == db.tick # NoOne /\ db' = [db EXCEPT !.tick = NoOne] /\ UNCHANGED <<net, p, budget, wrong>>
Retires(w) == /\ Idle(w) /\ p[w].pc = "took" /\ p[w].slot = 0 /\ db.next > Slots
              /\ Becomes(w, [p[w] EXCEPT !.pc = "out"])

\* Somebody adds a task with the id of a slot.
TakesId == \E k \in 1..Slots : db.made[k] = 0 /\ db' = [db EXCEPT !.made[k] = 1] /\ UNCHANGED <<net, p, budget, wrong>>

Next == Network \/ NewTick \/ TakesId \/ \E w \in Workers : TakeTick(w) \/ Look(w) \/ Make(w) \/ Advance(w) \/ Retires(w)
Spec == Init /\ [][Next]_vars
Steps(w) == TakeTick(w) \/ Look(w) \/ Make(w) \/ Advance(w)
Fair == Spec /\ FairNetwork /\ WF_vars(NewTick) /\ \A w \in Workers : SF_vars(Steps(w))

-----------------------------------------------------------------------------
I20_Once == "tick" \notin wrong
SLOT_None == \A k \in 1..Slots : k < db.next => db.made[k] > 0
SLOT_Once == \A k \in 1..Slots : db.made[k] <= 1
SLOT_Forward == "back" \notin wrong
\* Each slot becomes a task.
AllMade == <>(\A k \in 1..Slots : db.made[k] > 0)
=============================================================================
