----------------------------- MODULE TraceTask -----------------------------
(***************************************************************************)
(* Task rows as the simulator recorded them: the fields of an event, and   *)
(* what the specification allows it to do to the row t.                    *)
(***************************************************************************)
EXTENDS TraceSession

NoTask == [st |-> "absent", ctr |-> 0, ses |-> NoOne, att |-> 0, seq |-> 0, n |-> 0, due |-> 0]
TaskEvent(r) ==
  [what |-> "task", k |-> r[2], ok |-> r[3] = 1,
   a |-> [s |-> Ses(r[4]), c |-> r[5], o |-> Ses(r[6]), oc |-> r[7], on |-> r[8], n |-> r[9], seq |-> r[10],
          ost |-> r[11], at |-> r[12], due |-> r[13]],
   y |-> IF r[3] = 0 THEN NoTask
         ELSE [st |-> r[14], ctr |-> r[15], ses |-> Ses(r[16]), att |-> r[17], seq |-> r[18], n |-> r[19], due |-> r[20]]]

Finishes == {"task.complete", "task.commit", "task.discard", "task.giveUp"}
HandsBack == {"task.retry", "task.release", "task.snooze", "task.wait", "task.promote"}
Abandons == {"task.takeOver", "task.bury", "task.cancelAbandoned", "task.promoteAbandoned"}
Waiting == {"task.cancel", "task.expire", "task.reschedule", "task.replace"}
Again == {"task.revive", "task.renew"}
Later == {"task.progress", "task.bar", "task.commit", "task.wait"}
Creates == {"task.enqueue"}
TaskVerbs == Creates \cup Finishes \cup HandsBack \cup Abandons \cup Waiting \cup Again
             \cup Later \cup {"task.claim", "task.leaveLine"}
TaskGuard(t, e) ==
  CASE e.k \in Creates -> t.st = "absent"
    [] e.k = "task.claim" -> CanClaim(t, e.a)
    [] e.k = "task.promoteAbandoned" -> IsMine(t, e.a)
    [] e.k \in Abandons -> IsObserved(t, e.a)
    [] e.k \in (Finishes \cup HandsBack) \ Later -> IsMine(t, e.a)
    [] e.k \in Later -> IsMyLater(t, e.a)
    [] e.k \in Waiting -> IsUntouched(t, e.a)
    [] e.k \in Again -> CanRevive(t, e.a)
    [] e.k = "task.leaveLine" -> t.st = "cancelled" /\ t.n = e.a.on
TaskAfter(t, e) ==
  CASE e.k \in Creates -> [NoTask EXCEPT !.st = "ready", !.ctr = e.y.ctr, !.n = e.a.n]
    [] e.k \in {"task.claim", "task.takeOver"} -> Taken(t, e.a)
    [] e.k \in {"task.complete", "task.commit"} -> Finished(t, e.a, "done")
    [] e.k \in {"task.discard", "task.bury"} -> Finished(t, e.a, "dead")
    [] e.k \in {"task.giveUp", "task.cancel", "task.expire", "task.cancelAbandoned"} -> Finished(t, e.a, "cancelled")
    \* A failure that was not the task's own is refunded.
    [] e.k = "task.retry" -> Freed(t, e.a, IF e.y.att = t.att THEN t.att ELSE t.att - 1)
    \* Its follower is a new piece of work.
    [] e.k \in {"task.promote", "task.promoteAbandoned"} -> Freed(t, e.a, 0)
    [] e.k \in HandsBack -> Freed(t, e.a, t.att - 1)
    [] e.k \in {"task.progress", "task.bar"} -> Progressed(t, e.a)
    [] e.k \in Again -> Revived(t, e.a)
    [] OTHER -> [t EXCEPT !.n = e.a.n]
TaskAgrees(want, y) == /\ want.st = y.st /\ want.ctr = y.ctr /\ want.att = y.att /\ want.n = y.n
                       /\ y.st = "running" => want.ses = y.ses /\ want.seq = y.seq
\* What others write (a family's transaction, an operator's wish) creates the row, or leaves its state and its tenure alone.
LeavesTenure(t, y) == \/ t.st = "absent" /\ y.ctr >= t.ctr
                      \/ /\ y.st = t.st /\ y.ctr = t.ctr /\ y.att = t.att
                         /\ t.st = "running" => y.ses = t.ses /\ y.seq = t.seq
\* A process that takes from a session, or buries what it held, has found it over: what is over stays over.
TaskJudged(e, x) == e.k \in Abandons => Over(x, IF e.k = "task.promoteAbandoned" THEN e.a.s ELSE e.a.o)
\* No counter goes back: not across a sweep either, after which the row starts above every token that it has given out.
TaskWrite(t, e, x) ==
  IF e.k \in TaskVerbs THEN TaskGuard(t, e) /\ TaskJudged(e, x) /\ TaskAgrees(TaskAfter(t, e), e.y) /\ e.y.ctr >= t.ctr
  ELSE LeavesTenure(t, e.y)
TaskAllows(t, e, x) == IF e.ok THEN TaskWrite(t, e, x) ELSE ~TaskGuard(t, e)
TaskSwept(t) == t.st \notin {"ready", "running"}
\* Its holder's own write ends the tenure, though the holder may not have heard so yet: it does nothing more under it.
TaskCloses(e) == e.k \in Finishes \cup HandsBack
=============================================================================
