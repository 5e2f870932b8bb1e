------------------------------- MODULE Batch --------------------------------
(***************************************************************************)
(* A batch: tasks that are waited for together. What ends a child counts   *)
(* it down in the same transaction; the last one wakes the waiter, which   *)
(* is a callback or a parent. Which of the two it is, its worker reads, and *)
(* learns by a refusal when another child ended meanwhile. An operator may *)
(* cancel the waiter once; the last child then ends without it, unless it  *)
(* is retried before.                                                     *)
(*                                                                         *)
(* Left out: children that are cancelled while they wait (they count as    *)
(* any end does).                                                          *)
(***************************************************************************)
EXTENDS Queue
CONSTANT MaxAttempts

BatchInit == [t |-> [i \in TaskIds |-> NewTask], pending |-> Tasks, waiter |-> "waits", mayCancel |-> TRUE]
BatchStart(w) == WorkerStart

-----------------------------------------------------------------------------
(* The store: each request is one transaction. *)

Counts(x, r) ==
  IF ~r.x.isLast THEN CanCountDown(x.pending) \/ B("downToNone")
  ELSE /\ CanCountLast(x.pending)
       /\ IF r.x.wakes THEN B("wakesAny") \/ CanWake(x.waiter) ELSE B("endsUnwoken") \/ IsNotWaiting(x.waiter)
BatchAccepts(x, r) ==
  CASE r.k \in {"done", "dead"} -> (B("countsApart") \/ TaskAccepts(x.t[r.i], r)) /\ Counts(x, r)
    \* task.markDead: a contender ends what its dead worker had.
    [] r.k = "bury" -> IsObserved(x.t[r.i], r) /\ Counts(x, r)
    [] OTHER -> TaskAccepts(x.t[r.i], r)
BatchAfter(x, r) ==
  IF r.k \in {"done", "dead", "bury"}
  THEN [t |-> [x.t EXCEPT ![r.i] = TaskAfter(@, [r EXCEPT !.k = IF @ = "bury" THEN "dead" ELSE @])],
        pending |-> IF B("buriesUncounted") /\ r.k = "bury" THEN x.pending ELSE CountedDown(x.pending),
        waiter |-> IF r.x.isLast /\ r.x.wakes THEN Woken(x.waiter) ELSE x.waiter, mayCancel |-> x.mayCancel]
  ELSE [x EXCEPT !.t[r.i] = TaskAfter(@, r)]
BatchWrong(x, r) ==
  TaskWrong(x.t[r.i], r) \cup (IF r.k = "bury" /\ ~IsDead(x.t[r.i].ses) THEN {"robbed"} ELSE {})
  \cup (IF r.k \in {"done", "dead", "bury"} /\ r.x.isLast /\ r.x.wakes /\ x.waiter # "waits" THEN {"again"} ELSE {})

-----------------------------------------------------------------------------
(* Workers. *)

BatchTold(q, r, ok, x) ==
  LET told == TaskTold(q, r, ok, x.t[r.i]) IN
  IF B("forgetsCount") /\ r.k \in Settles /\ ~ok THEN [told EXCEPT !.has = 0, !.open = FALSE] ELSE told
\* Shipped code learns by a refusal that the waiter does not wait; here it is read, and may have changed when the request arrives.
Last == [isLast |-> db.pending = 1, wakes |-> db.pending = 1 /\ CanWake(db.waiter)]
Claim(w, i) == Claims(w, i, <<>>)
Done(w) == Settle(w, "done", Last)
Discard(w) == Settle(w, "dead", Last) /\ p[w].ctr > 1
Retry(w) == MayRetry(w) /\ Settle(w, "retry", <<>>)
Takes(w, i) == Task(i).att < MaxAttempts /\ TakeOver(w, i)
Bury(w, i) == /\ Free(w) /\ Task(i).st = "running" /\ IsDead(Task(i).ses) /\ Task(i).att >= MaxAttempts
              /\ Send(w, [Req("bury", w, i, Last) EXCEPT !.o = Task(i).ses, !.oc = Task(i).ctr])

(* The operator, whose writes compare the nonce that they have read: each is one step. *)

Cancel == /\ db.waiter = "waits" /\ db.mayCancel
          /\ db' = [db EXCEPT !.waiter = "cancelled", !.mayCancel = FALSE] /\ UNCHANGED <<net, p, budget, wrong>>
Revive == /\ db.waiter = "cancelled"
          /\ db' = [db EXCEPT !.waiter = IF CanWaitAgain(db.pending) \/ B("waitsForEnded") THEN "waits" ELSE "due"]
          /\ UNCHANGED <<net, p, budget, wrong>>

Next == \/ Network \/ Cancel \/ Revive
        \/ \E w \in Workers : Done(w) \/ Discard(w) \/ Retry(w) \/ Quit(w)
        \/ \E w \in Workers, i \in TaskIds : Claim(w, i) \/ Takes(w, i) \/ Bury(w, i) \/ Adopt(w, i)
Spec == Init /\ [][Next]_vars
Steps(w) == Done(w) \/ \E i \in TaskIds : Claim(w, i) \/ Takes(w, i) \/ Bury(w, i) \/ Adopt(w, i)
Fair == Spec /\ FairNetwork /\ WF_vars(Revive) /\ \A w \in Workers : WF_vars(Quit(w)) /\ SF_vars(Steps(w))

-----------------------------------------------------------------------------
BATCH_Count == db.pending = Cardinality({i \in TaskIds : ~IsOverTask(Task(i))})
BATCH_Called == /\ db.pending > 0 => db.waiter # "due"
                /\ db.pending = 0 => db.waiter # "waits"
BATCH_Once == "again" \notin wrong
\* The waiter comes at last.
IsCalled == <>(db.waiter = "due")
=============================================================================
