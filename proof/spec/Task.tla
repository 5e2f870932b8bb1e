-------------------------------- MODULE Task --------------------------------
(***************************************************************************)
(* One task and the workers that want it: claim, take over, bury, adopt;   *)
(* complete (commit is the same with the effect in its transaction), retry *)
(* (hand back and keep the attempt), release (hand back and return it;     *)
(* snooze is that with a later time), progress.                            *)
(*                                                                         *)
(* Left out: keys, lines and batches (how they park and wake is another    *)
(* matter), cancels and other wishes of operators, and what is due later:  *)
(* a ready task is due here.                                               *)
(***************************************************************************)
EXTENDS Holder
CONSTANTS MaxAttempts,   \* claims that count, after which a task of a dead worker is buried
          MaxClaims,     \* hand-backs end here, to bound the counter
          MaxProgress,   \* progress reports of one tenure
          Verbs          \* of {"retry", "release", "progress"}, beside "done"

TaskInit == [st |-> "ready", ctr |-> 0, ses |-> NoOne, att |-> 0, seq |-> 0, n |-> NoNonce, due |-> LongPast]
TaskTimed == {"renew", "expire"}
TaskOlder(t) == t
TaskDone(t) == t.st \in {"done", "dead"}

-----------------------------------------------------------------------------
(* The store. A switch that drops a comparison compares the row with itself. *)

TaskLoose(t, r) ==
  CASE r.k = "claim" -> [r EXCEPT !.oc = IF B("claimAnyCounter") THEN t.ctr ELSE @, !.on = IF B("claimAnyNonce") THEN t.n ELSE @]
    [] r.k \in {"take", "bury"} -> [r EXCEPT !.oc = IF B("takeAnyCounter") THEN t.ctr ELSE @,
                                                !.o = IF B("takeAnySession") THEN t.ses ELSE @]
    [] r.k \in {"done", "retry", "release", "progress"} ->
         [r EXCEPT !.c = IF B("noToken") THEN t.ctr ELSE @, !.s = IF B("noSession") THEN t.ses ELSE @,
                   !.seq = IF B("noSequence") THEN t.seq + 1 ELSE @]
TaskGuard(t, request) ==
  LET r == TaskLoose(t, request) IN
  CASE r.k = "claim" -> CanClaim(IF B("claimRunning") /\ t.st = "running" THEN [t EXCEPT !.st = "ready"] ELSE t, [r EXCEPT !.at = LongPast])
    [] r.k \in {"take", "bury"} -> IsObserved(t, r)
    [] r.k \in {"done", "retry", "release"} -> IF B("noFence") THEN t.st = "running"
                                           ELSE IF B("doneTwice") THEN t.ctr = r.c ELSE IsMine(t, r)
    [] r.k = "progress" -> IsMyLater(t, r)
TaskAfter(t, r) ==
  CASE r.k \in {"claim", "take"} -> [Taken(t, r) EXCEPT !.ctr = IF B("sameToken") THEN t.ctr ELSE @]
    [] r.k = "done" -> Finished(t, r, "done")
    [] r.k = "bury" -> Finished(t, r, "dead")
    [] r.k = "retry" -> Freed(t, r, t.att)
    [] r.k = "release" -> [Freed(t, r, IF B("keepsAttempt") THEN t.att ELSE t.att - 1) EXCEPT !.ctr = IF B("restarts") THEN 0 ELSE @]
    [] r.k = "progress" -> Progressed(t, r)
\* I2: a holder of the past changes nothing. I3: tokens grow. I16: one end. I18: attempts are claims less hand-backs.
TaskWrong(t, r) ==
  (IF r.k \in {"done", "retry", "release", "progress"} /\ (t.ctr # r.c \/ t.ses # r.s) THEN {"I2"} ELSE {})
  \cup (IF r.k \in {"claim", "take"} /\ TaskAfter(t, r).ctr <= t.ctr THEN {"I3"} ELSE {})
  \cup (IF TaskAfter(t, r).ctr < t.ctr THEN {"I3"} ELSE {})
  \cup (IF t.st \notin {"ready", "running"} THEN {"I16"} ELSE {})
  \cup (IF r.k = "release" /\ TaskAfter(t, r).att # t.att - 1 THEN {"I18"} ELSE {})
  \cup (IF r.k = "bury" /\ t.att < MaxAttempts THEN {"I18"} ELSE {})

-----------------------------------------------------------------------------
(* What a worker makes of an answer, and of none. *)

AtRest(q) == [q EXCEPT !.req = NoReq, !.pc = "idle", !.ctr = 0, !.seq = 0, !.ack = 0]
TaskClient(q, r, ok, t) ==
  CASE r.k \in {"claim", "take"} /\ ok -> [q EXCEPT !.req = NoReq, !.pc = "running", !.ctr = t.ctr, !.seq = 0, !.ack = 0, !.doubt = FALSE]
    [] r.k = "progress" /\ ok -> [q EXCEPT !.req = NoReq, !.seq = r.seq, !.ack = r.seq]
    [] r.k = "done" /\ (ok \/ B("saysDone")) -> [Lost(q) EXCEPT !.told = TRUE]
    [] OTHER -> AtRest(q)
\* A claim may have been applied: the worker goes on, and adopts the task if it meets it. A settlement may have been
\* applied: the worker parks the task, and its session's end frees what is left of it. A progress has used up its number.
TaskGaveUp(q, r) ==
  CASE r.k \in {"claim", "take", "bury", "expire"} -> [AtRest(q) EXCEPT !.doubt = TRUE]
    [] r.k = "progress" -> [q EXCEPT !.req = NoReq, !.seq = IF B("sameSequence") THEN @ ELSE r.seq]
    [] OTHER -> IF B("adoptsDone") THEN [AtRest(q) EXCEPT !.doubt = TRUE] ELSE [AtRest(q) EXCEPT !.pc = "parked"]

-----------------------------------------------------------------------------
(* What a worker does with the task. *)

Claim(w) == /\ CanAct(w, "idle") /\ row.st = "ready"
            /\ Contend(w, [Req("claim", w, "work") EXCEPT !.oc = row.ctr, !.on = row.n])
IsGone(w) == \/ IsOpen(sess[row.ses], At(w), Delay, 0, Skew)
             \/ B("takeExpired") /\ IsDeadTo(w, row.ses)
             \/ B("takeLive")
IsAbandoned(w) == CanAct(w, "idle") /\ row.st = "running" /\ row.ses # sid(w) /\ IsGone(w)
TakeOver(w) == /\ IsAbandoned(w) /\ row.att < MaxAttempts
               /\ Contend(w, [Req("take", w, "work") EXCEPT !.o = row.ses, !.oc = row.ctr])
Bury(w) == /\ IsAbandoned(w) /\ (row.att >= MaxAttempts \/ B("buriesEarly"))
           /\ Contend(w, [Req("bury", w, "work") EXCEPT !.o = row.ses, !.oc = row.ctr])
\* It runs under our own session without our knowing, for the answer to its claim was lost: it is ours already.
Adopt(w) == /\ CanAct(w, "idle") /\ row.st = "running" /\ row.ses = sid(w) /\ ~B("noAdopt")
            /\ p' = [p EXCEPT ![w] = [@ EXCEPT !.pc = "running", !.ctr = row.ctr, !.seq = row.seq, !.ack = row.seq, !.doubt = FALSE,
                                        !.plan = NoReq]]
            /\ UNCHANGED <<off, sess, row, net, budget, seen>>
Complete(w) == CanAct(w, "running") /\ Work(w, Req("done", w, "work"))
Retry(w) == "retry" \in Verbs /\ CanAct(w, "running") /\ row.att < MaxAttempts /\ Work(w, Req("retry", w, "work"))
Release(w) == "release" \in Verbs /\ CanAct(w, "running") /\ p[w].ctr < MaxClaims /\ Work(w, Req("release", w, "work"))
Progress(w) == /\ "progress" \in Verbs /\ CanAct(w, "running") /\ p[w].seq < MaxProgress
               /\ Work(w, [Req("progress", w, "work") EXCEPT !.seq = p[w].seq + 1])

Step(w) == \/ Create(w) \/ Renew(w) \/ Stop(w) \/ Leave(w) \/ Go(w)
           \/ Claim(w) \/ Adopt(w) \/ Expire(w) \/ TakeOver(w) \/ Bury(w)
           \/ Complete(w) \/ Retry(w) \/ Release(w) \/ Progress(w)
\* In a timely model, time that passes while someone could act is a fault: once the budget is spent all are in time.
IsBusy == ENABLED (Arrive \/ \E w \in Workers : Step(w) \/ Resend(w))
Time == Tick(IF Timely THEN IsBusy ELSE FALSE)
Next == Time \/ Arrive \/ ArriveMute \/ GetLost \/ Destroy \/ \E w \in Workers : Step(w) \/ Resend(w) \/ GiveUp(w) \/ Crash(w)
Spec == Init /\ [][Next]_vars
Fair == Spec /\ WF_vars(Time) /\ WF_vars(Arrive) /\ \A w \in Workers : WF_vars(Step(w)) /\ WF_vars(Resend(w))

-----------------------------------------------------------------------------
(* What must hold. Numbers are those of ARCHITECTURE. *)

\* Who relies on the task has it; who has it and is in no doubt knows. One whose session was ended by force is told later.
I0_Told == \A w \in Workers : Relies(w) /\ ~IsForced(w) => row.st = "running" /\ row.ses = sid(w) /\ row.ctr = p[w].ctr
I2_NoZombie == "I2" \notin seen.wrong
\* Progress that its worker was told of is there, or something later.
I2b_NoLostUpdate == \A w \in Workers : Relies(w) /\ ~IsForced(w) => row.seq >= p[w].ack
I3_Tokens == "I3" \notin seen.wrong
I5_NoOrphan == \A w \in Workers :
  row.st = "running" /\ p[w].pc = "idle" /\ p[w].req = NoReq /\ ~p[w].doubt /\ Believes(w) => row.ses # sid(w)
I16_Once == seen.effects <= 1 /\ "I16" \notin seen.wrong
I17_AckTrue == \A w \in Workers : p[w].told => row.st = "done"
I18_Attempts == "I18" \notin seen.wrong
\* A due task ends, unless all workers have used up their sessions.
Ends == <>(row.st \in {"done", "dead"} \/ Spent)
=============================================================================
