----------------------------- MODULE TraceTask -----------------------------
(***************************************************************************)
(* The lives of task rows, as the simulator recorded them in the shipped   *)
(* code, held to Rows. Each trace is one row with the sessions that held   *)
(* it; all traces of a file are checked in one run: each is an initial     *)
(* state, and from every state there is one step at most.                  *)
(*                                                                         *)
(* An event is a write that the store applied (its guard must hold, and    *)
(* its effect must be the row that was recorded), a write that the store   *)
(* refused (its guard must not hold), a change by a verb that the          *)
(* specification leaves out (it must leave state and tenure alone), or a   *)
(* holder that begins or ceases to believe (one tenure at a time). What is *)
(* not allowed is printed, and the invariant fails.                        *)
(***************************************************************************)
EXTENDS Rows, Sequences, FiniteSets, TLC, Log
VARIABLES tr, i, t, x, who, bad
vars == <<tr, i, t, x, who, bad>>

Trace == Traces[tr]
e == Trace.events[i]
NoTask == [st |-> "absent", ctr |-> 0, ses |-> NoOne, att |-> 0, seq |-> 0, n |-> 0, due |-> 0]
NoSession == [st |-> "absent", exp |-> 0, rn |-> 0, n |-> 0, why |-> "-", inv |-> 0]
Init == /\ tr \in 1..Len(Traces) /\ i = 1 /\ t = NoTask /\ who = {} /\ bad = FALSE
        /\ x = [s \in 1..Trace.sessions |-> NoSession]
\* Session s of the trace is <<"s", s>> in rows; 0 is one that the trace does not know.
Over(ses) == ses = NoOne \/ ses[2] = 0 \/ IsOver(x[ses[2]])

(* Tasks. *)
Finishes == {"task.complete", "task.commit", "task.discard", "task.giveUp"}
HandsBack == {"task.retry", "task.release", "task.snooze", "task.wait"}
Abandons == {"task.takeOver", "task.bury", "task.cancelAbandoned"}
Waiting == {"task.cancel", "task.expire", "task.reschedule", "task.replace"}
Again == {"task.revive", "task.renew"}
Entries == {"pack.record", "pack.commit", "pack.move"}
Creates == {"task.enqueue", "task.enqueueWrites", "pack.enqueue"}
Verbs == Creates \cup Finishes \cup HandsBack \cup Abandons \cup Waiting \cup Again \cup Entries
         \cup {"task.claim", "task.progress", "pack.finish"}
TaskGuard(a) ==
  CASE e.k \in Creates -> t.st = "absent"
    [] e.k = "task.claim" -> CanClaim(t, a)
    [] e.k \in Abandons -> IsObserved(t, a)
    [] e.k \in Finishes \cup HandsBack -> IsMine(t, a)
    [] e.k = "task.progress" -> CanProgress(t, a)
    [] e.k \in Entries \cup {"pack.finish"} -> IsMyNext(t, a)
    [] e.k \in Waiting -> IsUntouched(t, a)
    [] e.k \in Again -> CanRevive(t, a)
TaskAfter(a) ==
  CASE e.k \in Creates -> [NoTask EXCEPT !.st = "ready", !.ctr = e.y.ctr, !.n = a.n]
    [] e.k \in {"task.claim", "task.takeOver"} -> Taken(t, a)
    [] e.k \in {"task.complete", "task.commit"} -> Finished(t, a, "done")
    [] e.k \in {"task.discard", "task.bury"} -> Finished(t, a, "dead")
    [] e.k \in {"task.giveUp", "task.cancel", "task.expire", "task.cancelAbandoned"} -> Finished(t, a, "cancelled")
    \* A failure that was not the task's own is refunded.
    [] e.k = "task.retry" -> Freed(t, a, IF e.y.att = t.att THEN t.att ELSE t.att - 1)
    [] e.k \in HandsBack -> Freed(t, a, t.att - 1)
    [] e.k \in {"task.progress", "pack.record", "pack.commit"} -> Progressed(t, a)
    \* An item that leaves its pack may take the attempt along that its pack had for it.
    [] e.k = "pack.move" -> [Progressed(t, a) EXCEPT !.att = IF e.y.att = t.att THEN @ ELSE @ - 1]
    [] e.k = "pack.finish" -> Ended(t, a)
    [] e.k \in Again -> Revived(t, a)
    [] OTHER -> [t EXCEPT !.n = a.n]
Agrees(want) == /\ want.st = e.y.st /\ want.ctr = e.y.ctr /\ want.att = e.y.att /\ want.n = e.y.n
                /\ e.y.st = "running" => want.ses = e.y.ses /\ want.seq = e.y.seq
\* What others write (a family's transaction, an operator's wish) creates the row, or leaves its state and its tenure alone.
LeavesTenure == \/ t.st = "absent" /\ e.y.ctr >= t.ctr
                \/ e.y.st = t.st /\ e.y.ctr = t.ctr /\ e.y.att = t.att /\ (t.st = "running" => e.y.ses = t.ses /\ e.y.seq = t.seq)
\* A process that takes from a session, or buries what it held, has found it over: what is over stays over.
Judged(a) == e.k \in Abandons => Over(a.o)
\* No counter goes back: not across a sweep either, after which the row starts above every token that it has given out.
TaskWrite == IF e.k \in Verbs THEN TaskGuard(e.a) /\ Judged(e.a) /\ Agrees(TaskAfter(e.a)) /\ e.y.ctr >= t.ctr ELSE LeavesTenure
TaskRefused == ~TaskGuard(e.a)
TaskSwept == t.st \notin {"ready", "running"}

(* Sessions. *)
SessionGuard(a) ==
  CASE e.k = "session.create" -> CanCreate(x[e.s])
    [] e.k = "session.renew" -> CanRenew(x[e.s], a)
    [] e.k = "session.expire" -> CanExpire(x[e.s], a)
    [] e.k = "session.invalidate" -> CanInvalidate(x[e.s])
    [] OTHER -> TRUE
SessionAfter(a) ==
  CASE e.k = "session.create" -> Created(NoSession, a)
    [] e.k = "session.renew" -> Renewed(x[e.s], a)
    [] e.k \in {"session.expire", "session.invalidate"} -> Invalidated(x[e.s], a)
    [] OTHER -> x[e.s]
\* Its renewals are counted one by one; a change by another verb takes something away from it, and leaves it as it is.
SessionWrite == /\ SessionGuard(e.a) /\ SessionAfter(e.a) = e.y
                /\ e.k = "session.renew" => e.y.rn = x[e.s].rn + 1
                \* A contender leaves the holder the whole of the clock bound.
                /\ e.k = "session.expire" => e.a.before + Trace.skew <= e.a.at

\* Whether the specification allows the event that comes next.
Allowed ==
  CASE e.what = "task" -> IF e.ok THEN TaskWrite ELSE TaskRefused
    [] e.what = "session" -> IF e.ok THEN SessionWrite ELSE ~SessionGuard(e.a)
    [] e.what = "sweptTask" -> TaskSwept
    [] e.what \in {"sweptSession", "believes", "doubts"} -> TRUE
    [] OTHER -> FALSE
\* Belief is asked of the code. Session 0 of a trace is unknown, and has no row in it.
Take ==
  /\ t' = CASE e.what = "task" /\ e.ok -> e.y
            [] e.what = "sweptTask" -> [NoTask EXCEPT !.ctr = t.ctr]
            [] OTHER -> t
  /\ x' = CASE e.what = "session" /\ e.ok -> [x EXCEPT ![e.s] = e.y]
            [] e.what = "sweptSession" -> [x EXCEPT ![e.s].st = "swept"]
            [] OTHER -> x
  /\ who' = CASE e.what = "believes" -> who \cup {<<e.s, e.c>>}
              [] e.what = "doubts" -> who \ {<<e.s, e.c>>}
              [] OTHER -> who
\* I1: one tenure is believed in at a time, where the clocks of the history keep their bound and no operator ended a session by force.
OneBelieves == Trace.holds => Cardinality({b[2] : b \in who'}) <= 1
Go == /\ ~bad /\ i <= Len(Trace.events) /\ tr' = tr
      /\ IF Allowed
         THEN /\ Take /\ i' = i + 1
              /\ bad' = (~OneBelieves /\ PrintT("REJECTED " \o ToString(<<Trace.seed, Trace.row, i, "two believe", who', e, t>>)))
         ELSE /\ PrintT("REJECTED " \o ToString(<<Trace.seed, Trace.row, i, e, t, x>>))
              /\ bad' = TRUE /\ UNCHANGED <<i, t, x, who>>
Spec == Init /\ [][Go]_vars
Accepted == ~bad
=============================================================================
