-------------------------------- MODULE Key ---------------------------------
(***************************************************************************)
(* Tasks of one key, of which Limit run at a time: claimed with a slot of  *)
(* the key, ended with it, taken over with it. The due tasks of a key      *)
(* stand together in the index, and a worker jumps over them while it      *)
(* remembers the key as full. Others stand apart, by time: a worker that   *)
(* meets one while the key is full moves it to the others (Join). Nothing  *)
(* is hidden, and nothing waits for a repair.                              *)
(*                                                                         *)
(* A full key may be full of tasks whose workers have died. So a worker    *)
(* looks at the first Limit entries, and at more of them the longer the    *)
(* key stands still (Idle), whoever it is and however short it lives.      *)
(*                                                                         *)
(* A worker claims two tasks, and ends two, in one transaction that writes *)
(* the key once, all or nothing.                                           *)
(*                                                                         *)
(* Left out: rates of a key, and tasks that disagree about the limit.      *)
(***************************************************************************)
EXTENDS Queue
CONSTANT Limit

\* stands: "group" (with the others of its key), "apart" or "none". still: how long no task has entered or left the key.
KeyInit == [t |-> [i \in TaskIds |-> [stands |-> IF i = 1 THEN "apart" ELSE "group"] @@ NewTask], run |-> 0, still |-> 0]
\* full: it remembers the key as full.
KeyStart(w) == [full |-> FALSE] @@ WorkerStart

-----------------------------------------------------------------------------
(* The store. *)

\* The two tasks of a group. Each keeps its own guard.
Parts(r) == <<[r EXCEPT !.k = IF @ = "claimBoth" THEN "claim" ELSE "done"], r.x>>
IsGroup(r) == r.k \in {"claimBoth", "doneBoth"}
KeyAccepts(x, r) ==
  CASE r.k = "claimBoth" -> HasRoomFor(x.run, Limit, 2) /\ \A n \in 1..2 : TaskAccepts(x.t[Parts(r)[n].i], Parts(r)[n])
    [] r.k = "doneBoth" -> CanLeaveKeyAll(x.run, 2) /\ \A n \in 1..2 : TaskAccepts(x.t[Parts(r)[n].i], Parts(r)[n])
    [] r.k = "claim" -> TaskAccepts(x.t[r.i], r) /\ (B("keyFull") \/ HasRoom(x.run, Limit))
    [] r.k = "join" -> B("joinsAny") \/ CanJoinOthers(x.t[r.i], r)
    [] OTHER -> TaskAccepts(x.t[r.i], r)
RunLeft(x) == IF CanLeaveKey(x.run) THEN KeyLeft(x.run) ELSE x.run
RunAfter(x, r) ==
  CASE r.k = "claim" -> KeyEntered(x.run)
    [] r.k = "take" -> IF B("takeLeaves") THEN RunLeft(x) ELSE x.run
    [] r.k = "retry" -> IF B("retryKeepsPlace") THEN x.run ELSE RunLeft(x)
    [] OTHER -> IF B("keepsPlace") THEN x.run ELSE RunLeft(x)
\* An end leaves the index; a task that is handed back stands by its time. A claim or a takeover moves nothing.
StandsAfter(t, r) ==
  CASE r.k = "retry" -> "apart"
    [] r.k \in {"done", "dead"} -> "none"
    [] OTHER -> t.stands
OneAfter(x, r) ==
  IF r.k = "join" THEN [x EXCEPT !.t[r.i] = TaskJoined(@, r)]
  ELSE [t |-> [x.t EXCEPT ![r.i] = [TaskAfter(@, r) EXCEPT !.stands = StandsAfter(x.t[r.i], r)]],
        run |-> RunAfter(x, r), still |-> IF r.k = "take" THEN x.still ELSE 0]
KeyAfter(x, r) ==
  IF ~IsGroup(r) THEN OneAfter(x, r)
  ELSE LET both == OneAfter(OneAfter(x, Parts(r)[1]), Parts(r)[2])
       IN IF B("groupCountsOne") THEN [both EXCEPT !.run = OneAfter(x, Parts(r)[1]).run] ELSE both
KeyWrong(x, r) == TaskWrong(x.t[r.i], r)

-----------------------------------------------------------------------------
(* Workers. *)

KeyTold(q, r, ok, x) == TaskTold(q, IF IsGroup(r) THEN Parts(r)[1] ELSE r, ok, x.t[r.i])
KeyGaveUp(q, r) == TaskGaveUp(q, IF IsGroup(r) THEN Parts(r)[1] ELSE r)
Room == HasRoom(db.run, Limit)
Before(i) == Cardinality({j \in TaskIds : j < i /\ Task(j).stands = "group"})
Looks == IF B("noLook") THEN 0 ELSE IF B("looksAtFirst") THEN Limit ELSE Limit + db.still
\* Whether a worker reads the task's row. A task that is announced is read wherever it stands, but by nobody if that worker dies.
Meets(w, i) == Task(i).stands = "apart" \/ ~p[w].full \/ Before(i) < Looks
JumpsOver(w) == Free(w) /\ ~p[w].full /\ ~Room /\ Becomes(w, [p[w] EXCEPT !.full = TRUE])
Forget(w) == Free(w) /\ p[w].full /\ Room /\ ~B("remembersFull") /\ Becomes(w, [p[w] EXCEPT !.full = FALSE])
Claim(w, i) == ~p[w].full /\ (Room \/ B("keyFull")) /\ Claims(w, i, <<>>)
\* The second of them runs, and the worker adopts it when the first has ended.
ClaimOf(w, i) == [Req("claim", w, i, <<>>) EXCEPT !.oc = Task(i).ctr, !.on = Task(i).n]
ClaimBoth(w, i, j) == /\ Limit > 1 /\ i # j /\ Free(w) /\ ~p[w].full /\ Task(i).st = "ready" /\ Task(j).st = "ready"
                      /\ Send(w, [ClaimOf(w, i) EXCEPT !.k = "claimBoth", !.x = ClaimOf(w, j)])
DoneBoth(w, j) == /\ Limit > 1 /\ Works(w) /\ j # p[w].has /\ Task(j).st = "running" /\ Task(j).ses = Ses(w)
                  /\ Settle(w, "doneBoth", [Req("done", w, j, <<>>) EXCEPT !.c = Task(j).ctr])
Join(w, i) == /\ Free(w) /\ p[w].full /\ Task(i).st = "ready" /\ Task(i).stands = "apart"
              /\ Send(w, [Req("join", w, i, <<>>) EXCEPT !.oc = Task(i).ctr, !.on = Task(i).n])
TakesOver(w, i) == Meets(w, i) /\ (Room \/ p[w].full) /\ TakeOver(w, i)
Adopts(w, i) == Meets(w, i) /\ (Room \/ p[w].full) /\ Adopt(w, i)
Done(w) == Settle(w, "done", <<>>)
Retry(w) == MayRetry(w) /\ Settle(w, "retry", <<>>)
\* Time passes, and the key stands still.
Idles == db.run > 0 /\ db.still < Tasks /\ db' = [db EXCEPT !.still = @ + 1] /\ UNCHANGED <<net, p, budget, wrong>>

Next == \/ Network \/ Idles
        \/ \E w \in Workers : Done(w) \/ Retry(w) \/ JumpsOver(w) \/ Forget(w) \/ Quit(w)
        \/ \E w \in Workers, i \in TaskIds : Claim(w, i) \/ TakesOver(w, i) \/ Adopts(w, i) \/ Join(w, i) \/ DoneBoth(w, i)
        \/ \E w \in Workers, i, j \in TaskIds : ClaimBoth(w, i, j)
Spec == Init /\ [][Next]_vars
Steps(w) == \/ Done(w) \/ JumpsOver(w) \/ Forget(w)
            \/ \E i \in TaskIds : Claim(w, i) \/ TakesOver(w, i) \/ Adopts(w, i) \/ Join(w, i)
Fair == Spec /\ FairNetwork /\ WF_vars(Idles) /\ \A w \in Workers : WF_vars(Quit(w)) /\ SF_vars(Steps(w))

-----------------------------------------------------------------------------
KEY_Limit == Cardinality(Running) <= Limit
KEY_Exact == db.run = Cardinality(Running)
\* A task is in the index until it ends, and then no more.
KEY_InSight == \A i \in TaskIds : (Task(i).stands = "none") = IsOverTask(Task(i))
\* If a key has room, one of its tasks is taken; and each ends.
Served == (Room /\ \E i \in TaskIds : Task(i).st = "ready") ~> (~Room \/ \A i \in TaskIds : Task(i).st # "ready")
AllEnd == \A i \in TaskIds : <>IsOverTask(Task(i))
=============================================================================
