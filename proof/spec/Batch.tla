------------------------------- MODULE Batch --------------------------------
(***************************************************************************)
(* A batch: tasks that are waited for together. What ends a child counts   *)
(* it down in the same transaction; the last one creates the callback.     *)
(* Which of the two it is, its worker reads, and learns by a refusal when  *)
(* another child ended meanwhile.                                          *)
(*                                                                         *)
(* Left out: children that are cancelled while they wait (they count as    *)
(* any end does), and a parent that waits in place of a callback.          *)
(***************************************************************************)
EXTENDS Queue
CONSTANT MaxAttempts

BatchInit == [t |-> [i \in TaskIds |-> NewTask], pending |-> Tasks, callback |-> "absent"]
BatchStart(w) == WorkerStart

-----------------------------------------------------------------------------
(* The store: each request is one transaction. *)

Counts(x, r) == IF r.x.isLast THEN CanCountLast(x.pending) /\ (B("callsTwice") \/ IsAbsent(x.callback))
                ELSE CanCountDown(x.pending) \/ B("downToNone")
BatchAccepts(x, r) ==
  CASE r.k \in {"done", "dead"} -> (B("countsApart") \/ TaskAccepts(x.t[r.i], r)) /\ Counts(x, r)
    \* task.bury: a contender ends what its dead worker had.
    [] r.k = "bury" -> IsObserved(x.t[r.i], r) /\ Counts(x, r)
    [] OTHER -> TaskAccepts(x.t[r.i], r)
BatchAfter(x, r) ==
  IF r.k \in {"done", "dead", "bury"}
  THEN [t |-> [x.t EXCEPT ![r.i] = TaskAfter(@, [r EXCEPT !.k = IF @ = "bury" THEN "dead" ELSE @])],
        pending |-> IF B("buriesUncounted") /\ r.k = "bury" THEN x.pending ELSE CountedDown(x.pending),
        callback |-> IF r.x.isLast THEN "created" ELSE x.callback]
  ELSE [x EXCEPT !.t[r.i] = TaskAfter(@, r)]
BatchWrong(x, r) ==
  TaskWrong(x.t[r.i], r) \cup (IF r.k = "bury" /\ ~IsDead(x.t[r.i].ses) THEN {"robbed"} ELSE {})
  \cup (IF r.k \in {"done", "dead", "bury"} /\ r.x.isLast /\ x.callback # "absent" THEN {"again"} ELSE {})

-----------------------------------------------------------------------------
(* Workers. *)

BatchTold(q, r, ok, x) ==
  LET told == TaskTold(q, r, ok, x.t[r.i]) IN
  IF B("forgetsCount") /\ r.k \in Settles /\ ~ok THEN [told EXCEPT !.has = 0, !.open = FALSE] ELSE told
Last == [isLast |-> db.pending = 1]
Claim(w, i) == Claims(w, i, <<>>)
Done(w) == Settle(w, "done", Last)
Discard(w) == Settle(w, "dead", Last) /\ p[w].ctr > 1
Retry(w) == MayRetry(w) /\ Settle(w, "retry", <<>>)
Takes(w, i) == Task(i).att < MaxAttempts /\ TakeOver(w, i)
Bury(w, i) == /\ Free(w) /\ Task(i).st = "running" /\ IsDead(Task(i).ses) /\ Task(i).att >= MaxAttempts
              /\ Send(w, [Req("bury", w, i, Last) EXCEPT !.o = Task(i).ses, !.oc = Task(i).ctr])

Next == \/ Network
        \/ \E w \in Workers : Done(w) \/ Discard(w) \/ Retry(w) \/ Quit(w)
        \/ \E w \in Workers, i \in TaskIds : Claim(w, i) \/ Takes(w, i) \/ Bury(w, i) \/ Adopt(w, i)
Spec == Init /\ [][Next]_vars
Steps(w) == Done(w) \/ \E i \in TaskIds : Claim(w, i) \/ Takes(w, i) \/ Bury(w, i) \/ Adopt(w, i)
Fair == Spec /\ FairNetwork /\ \A w \in Workers : WF_vars(Quit(w)) /\ SF_vars(Steps(w))

-----------------------------------------------------------------------------
BATCH_Count == db.pending = Cardinality({i \in TaskIds : ~IsOverTask(Task(i))})
BATCH_Called == (db.callback # "absent") = (db.pending = 0)
BATCH_Once == "again" \notin wrong
\* The callback comes at last.
IsCalled == <>(db.callback # "absent")
=============================================================================
