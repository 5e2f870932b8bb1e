-------------------------------- MODULE Key ---------------------------------
(***************************************************************************)
(* Tasks of one key, of which Limit run at a time: claimed with a place of *)
(* the key, ended with it, taken over with it. A worker that finds the key *)
(* full may park a task, out of the sight of workers. What ends a task     *)
(* puts parked ones back, outside of its transaction; so do the worker     *)
(* that has parked one and, for what was missed, every tick (Repair).      *)
(*                                                                         *)
(* Left out: rates of a key, and tasks that disagree about the limit.      *)
(***************************************************************************)
EXTENDS Queue
CONSTANT Limit

KeyInit == [t |-> [i \in TaskIds |-> NewTask], run |-> 0]
\* back: it puts back what has room.
KeyStart(w) == [back |-> FALSE] @@ WorkerStart

-----------------------------------------------------------------------------
(* The store. *)

KeyAccepts(x, r) ==
  CASE r.k = "claim" -> TaskAccepts(x.t[r.i], r) /\ (B("keyFull") \/ HasRoom(x.run, Limit))
    [] r.k = "park" -> IF B("parksRunning") THEN ~x.t[r.i].parked ELSE CanPark(x.t[r.i], r)
    [] r.k = "putBack" -> CanPutBack(x.t[r.i])
    [] OTHER -> TaskAccepts(x.t[r.i], r)
RunLeft(x) == IF CanLeaveKey(x.run) THEN KeyLeft(x.run) ELSE x.run
RunAfter(x, r) ==
  CASE r.k = "claim" -> KeyEntered(x.run)
    [] r.k = "take" -> IF B("takeLeaves") THEN RunLeft(x) ELSE x.run
    [] OTHER -> IF B("keepsPlace") THEN x.run ELSE RunLeft(x)
KeyAfter(x, r) ==
  CASE r.k = "park" -> [x EXCEPT !.t[r.i] = TaskParked(@, r)]
    [] r.k = "putBack" -> [x EXCEPT !.t[r.i] = TaskPutBack(@)]
    [] OTHER -> [t |-> [x.t EXCEPT ![r.i] = TaskAfter(@, r)], run |-> RunAfter(x, r)]
KeyWrong(x, r) == TaskWrong(x.t[r.i], r) \cup IF r.k = "park" /\ x.t[r.i].st # "ready" THEN {"hidden"} ELSE {}

-----------------------------------------------------------------------------
(* Workers. *)

KeyTold(q, r, ok, x) ==
  CASE r.k \in Settles -> [TaskTold(q, r, ok, x.t[r.i]) EXCEPT !.back = ~B("noPutBack")]
    \* It looks at the key once more: an end may have come between.
    [] r.k = "park" /\ ok -> [q EXCEPT !.back = ~B("noSecondLook")]
    [] OTHER -> TaskTold(q, r, ok, x.t[r.i])
Room == HasRoom(db.run, Limit)
Claim(w, i) == (Room \/ B("keyFull")) /\ Claims(w, i, <<>>)
Done(w) == Settle(w, "done", <<>>)
Retry(w) == MayRetry(w) /\ Settle(w, "retry", <<>>)
Park(w, i) == /\ Free(w) /\ Task(i).st = "ready" /\ ~Task(i).parked /\ ~Room
              /\ Send(w, [Req("park", w, i, <<>>) EXCEPT !.oc = Task(i).ctr, !.on = Task(i).n])
Puts(w, i) == Task(i).parked /\ Room /\ Send(w, [Req("putBack", w, i, <<>>) EXCEPT !.n = 0])
PutBack(w, i) == Idle(w) /\ p[w].back /\ Puts(w, i)
LooksAway(w) == /\ Idle(w) /\ p[w].back /\ (~Room \/ \A i \in TaskIds : ~Task(i).parked)
                /\ Becomes(w, [p[w] EXCEPT !.back = FALSE])
Repair(w, i) == Idle(w) /\ ~p[w].back /\ ~B("noRepair") /\ Puts(w, i)

Next == \/ Network
        \/ \E w \in Workers : Done(w) \/ Retry(w) \/ LooksAway(w) \/ Quit(w)
        \/ \E w \in Workers, i \in TaskIds : Claim(w, i) \/ TakeOver(w, i) \/ Adopt(w, i) \/ Park(w, i) \/ PutBack(w, i) \/ Repair(w, i)
Spec == Init /\ [][Next]_vars
Steps(w) == \/ Done(w) \/ LooksAway(w)
            \/ \E i \in TaskIds : Claim(w, i) \/ TakeOver(w, i) \/ Adopt(w, i) \/ PutBack(w, i) \/ Repair(w, i)
Fair == Spec /\ FairNetwork /\ \A w \in Workers : WF_vars(Quit(w)) /\ SF_vars(Steps(w))

-----------------------------------------------------------------------------
KEY_Limit == Cardinality(Running) <= Limit
KEY_Exact == db.run = Cardinality(Running)
KEY_InSight == "hidden" \notin wrong
\* A task that is parked comes back, and each ends.
Unparks == \A i \in TaskIds : Task(i).parked ~> ~Task(i).parked
AllEnd == \A i \in TaskIds : <>IsOverTask(Task(i))
=============================================================================
