------------------------------ MODULE Schedule ------------------------------
(***************************************************************************)
(* Ticks and a recurring schedule. A dispatcher takes the tick it was      *)
(* started by, once however often that is delivered; then one transaction  *)
(* makes a task of the time that is due and advances the schedule. If the  *)
(* id of that task is taken, the schedule is advanced alone. A tick may    *)
(* come late, twice or never, and a dispatcher may die anywhere. Somebody  *)
(* else may add a task with the id of a time.                              *)
(*                                                                         *)
(* Left out: times that a policy leaves out, pauses, and the sweep of      *)
(* ticks and tasks. That tasks of a schedule take turns is Line.tla.       *)
(***************************************************************************)
EXTENDS Requests, QueueRows
CONSTANT Times    \* of the schedule; all are due

\* tick: the session that took the present one. made: how often each time became a task.
ScheduleInit == [tick |-> NoOne, next |-> 1, n |-> 0, made |-> [k \in 1..Times |-> 0]]
\* pc: out, took (the tick is its own), made (the task of its time was there). plan: the time, and the nonce it was read with.
DispatcherStart(w) == [inc |-> 0, busy |-> FALSE, pc |-> "out", time |-> 0, on |-> 0]

-----------------------------------------------------------------------------
(* The store. *)

TaskRow(x, k) == IF x.made[k] = 0 THEN "absent" ELSE "there"
ScheduleAccepts(x, r) ==
  CASE r.k = "tick" -> B("ticksTwice") \/ IsAbsent(IF x.tick = NoOne THEN "absent" ELSE "there")
    [] r.k = "make" -> /\ B("makesTwice") \/ IsAbsent(TaskRow(x, r.time))
                       /\ B("advanceBlind") \/ CanAdvanceSchedule(x, r)
    [] r.k = "advance" -> B("advanceBlind") \/ CanAdvanceSchedule(x, r)
ScheduleAfter(x, r) ==
  CASE r.k = "tick" -> [x EXCEPT !.tick = r.s]
    [] r.k = "make" -> [tick |-> x.tick, made |-> [x.made EXCEPT ![r.time] = Lesser(@ + 1, 2)]]
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
    [] r.k = "make" /\ ~ok /\ x.made[r.time] > 0 /\ x.n = r.on -> [q EXCEPT !.pc = "made"]
    [] r.k = "make" -> [q EXCEPT !.time = 0, !.on = 0]
    [] r.k = "advance" -> [q EXCEPT !.pc = "took", !.time = 0, !.on = 0]
DispatcherGaveUp(q, r) == q
Req(k) == [k |-> k, s |-> NoOne, n |-> 0, on |-> 0, heard |-> TRUE, time |-> 0, next |-> 0]
TakeTick(w) == Idle(w) /\ p[w].pc = "out" /\ db.tick = NoOne /\ Send(w, Req("tick"))
Look(w) == /\ Idle(w) /\ p[w].pc = "took" /\ p[w].time = 0 /\ db.next <= Times
           /\ Becomes(w, [p[w] EXCEPT !.time = db.next, !.on = db.n, !.pc = IF B("advancesFirst") THEN "made" ELSE "took"])
Step(w, k) == Send(w, [Req(k) EXCEPT !.time = p[w].time, !.on = p[w].on, !.next = p[w].time + 1,
                       !.n = Fresh({db.n} \cup {p[v].on : v \in Workers})])
Make(w) == Idle(w) /\ p[w].pc = "took" /\ p[w].time # 0 /\ Step(w, "make")
Advance(w) == Idle(w) /\ p[w].pc = "made" /\ Step(w, "advance")
\* The next tick, also while a dispatcher of the last one is at work.
NewTick == db.tick # NoOne /\ db' = [db EXCEPT !.tick = NoOne] /\ UNCHANGED <<net, p, budget, wrong>>
Retires(w) == /\ Idle(w) /\ p[w].pc = "took" /\ p[w].time = 0 /\ db.next > Times
              /\ Becomes(w, [p[w] EXCEPT !.pc = "out"])

\* Somebody adds a task with the id of a time.
TakesId == \E k \in 1..Times : db.made[k] = 0 /\ db' = [db EXCEPT !.made[k] = 1] /\ UNCHANGED <<net, p, budget, wrong>>

Next == Network \/ NewTick \/ TakesId \/ \E w \in Workers : TakeTick(w) \/ Look(w) \/ Make(w) \/ Advance(w) \/ Retires(w)
Spec == Init /\ [][Next]_vars
Steps(w) == TakeTick(w) \/ Look(w) \/ Make(w) \/ Advance(w)
Fair == Spec /\ FairNetwork /\ WF_vars(NewTick) /\ \A w \in Workers : SF_vars(Steps(w))

-----------------------------------------------------------------------------
I20_Once == "tick" \notin wrong
OCCURS_All == \A k \in 1..Times : k < db.next => db.made[k] > 0
OCCURS_Once == \A k \in 1..Times : db.made[k] <= 1
OCCURS_Forward == "back" \notin wrong
\* Each time becomes a task.
AllMade == <>(\A k \in 1..Times : db.made[k] > 0)
=============================================================================
