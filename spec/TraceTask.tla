----------------------------- MODULE TraceTask -----------------------------
(***************************************************************************)
(* The lives of task rows, as the simulator recorded them in the shipped   *)
(* code, held to Rows. Each trace is one row with the sessions that held   *)
(* it; all traces of a file are checked in one run: each is an initial     *)
(* state, and from every state there is one step at most.                  *)
(*                                                                         *)
(* An event is a write that the store applied (its guard must hold, and    *)
(* its effect must be the row that was recorded), a write that the store   *)
(* refused (its guard must not hold), or a change by a verb that the       *)
(* specification leaves out (it must leave a holder's tenure alone). One   *)
(* that is not allowed is printed, and the invariant fails.                *)
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
Mine == {"task.complete", "task.commit", "task.discard", "task.giveUp", "task.retry", "task.release", "task.snooze", "task.wait"}
TaskGuard(a) ==
  CASE e.k = "task.enqueue" -> t.st = "absent"
    [] e.k = "task.claim" -> CanClaim(t, a)
    [] e.k = "task.takeOver" \/ e.k = "task.bury" \/ e.k = "task.cancelAbandoned" -> IsObserved(t, a)
    [] e.k \in Mine -> IsMine(t, a)
    [] e.k = "task.progress" -> CanProgress(t, a)
    [] e.k \in {"task.cancel", "task.expire", "task.reschedule", "task.replace"} -> IsUntouched(t, a)
    [] OTHER -> TRUE
TaskAfter(a) ==
  CASE e.k = "task.enqueue" -> [NoTask EXCEPT !.st = "ready", !.ctr = e.y.ctr, !.n = a.n]
    [] e.k \in {"task.claim", "task.takeOver"} -> Taken(t, a)
    [] e.k \in {"task.complete", "task.commit"} -> Finished(t, a, "done")
    [] e.k \in {"task.discard", "task.bury"} -> Finished(t, a, "dead")
    [] e.k \in {"task.giveUp", "task.cancel", "task.expire", "task.cancelAbandoned"} -> Finished(t, a, "cancelled")
    [] e.k = "task.retry" -> Freed(t, a, t.att)
    [] e.k \in {"task.release", "task.snooze", "task.wait"} -> Freed(t, a, t.att - 1)
    [] e.k = "task.progress" -> Progressed(t, a)
    [] e.k \in {"task.reschedule", "task.replace"} -> [t EXCEPT !.n = a.n]
    [] OTHER -> e.y
Agrees(want) == /\ want.st = e.y.st /\ want.ctr = e.y.ctr /\ want.att = e.y.att /\ want.n = e.y.n
                /\ e.y.st = "running" => want.ses = e.y.ses /\ want.seq = e.y.seq
\* What others write leaves a tenure alone, and no counter goes back: not across a sweep either.
LeavesTenure == /\ e.y.ctr >= t.ctr
                /\ t.st = "running" => e.y.st = "running" /\ e.y.ses = t.ses /\ e.y.ctr = t.ctr /\ e.y.seq = t.seq
\* A process that takes from a session, or buries what it held, has found it over: what is over stays over.
Judged(a) == e.k \in {"task.takeOver", "task.bury", "task.cancelAbandoned"} => Over(a.o)
Verbs == Mine \cup {"task.enqueue", "task.claim", "task.takeOver", "task.bury", "task.cancelAbandoned", "task.progress", "task.cancel",
                    "task.expire", "task.reschedule", "task.replace"}
TaskWrite == /\ e.what = "task" /\ e.ok
             /\ IF e.k \in Verbs THEN TaskGuard(e.a) /\ Judged(e.a) /\ Agrees(TaskAfter(e.a)) ELSE TRUE
             /\ IF e.k \in Verbs THEN e.y.ctr >= t.ctr ELSE LeavesTenure
             /\ t' = e.y /\ UNCHANGED <<x, who>>
TaskRefused == e.what = "task" /\ ~e.ok /\ ~TaskGuard(e.a) /\ UNCHANGED <<t, x, who>>
TaskSwept == e.what = "sweptTask" /\ t.st \notin {"ready", "running"} /\ t' = [NoTask EXCEPT !.ctr = t.ctr] /\ UNCHANGED <<x, who>>

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
SessionWrite == /\ e.what = "session" /\ e.ok /\ SessionGuard(e.a) /\ SessionAfter(e.a) = e.y
                /\ e.k = "session.renew" => e.y.rn = x[e.s].rn + 1
                /\ x' = [x EXCEPT ![e.s] = e.y] /\ UNCHANGED <<t, who>>
SessionRefused == e.what = "session" /\ ~e.ok /\ ~SessionGuard(e.a) /\ UNCHANGED <<t, x, who>>
SessionSwept == e.what = "sweptSession" /\ x' = [x EXCEPT ![e.s].st = "swept"] /\ UNCHANGED <<t, who>>

(* Belief, asked of the code. *)
Believes == e.what = "believes" /\ who' = who \cup {<<e.s, e.c>>} /\ UNCHANGED <<t, x>>
Doubts == e.what = "doubts" /\ who' = who \ {<<e.s, e.c>>} /\ UNCHANGED <<t, x>>

Allowed == TaskWrite \/ TaskRefused \/ TaskSwept \/ SessionWrite \/ SessionRefused \/ SessionSwept \/ Believes \/ Doubts
Go == /\ ~bad /\ i <= Len(Trace.events) /\ tr' = tr
      /\ \/ Allowed /\ i' = i + 1 /\ bad' = bad
         \/ /\ ~ENABLED Allowed /\ PrintT("REJECTED " \o ToString(<<Trace.seed, Trace.row, i, e, t, x>>))
            /\ bad' = TRUE /\ UNCHANGED <<i, t, x, who>>
Spec == Init /\ [][Go]_vars
Accepted == ~bad
\* I1: one tenure is believed in at a time, where the clocks of the history keep their bound and no operator ended a session by force.
Exclusion == Trace.holds => Cardinality({b[2] : b \in who}) <= 1
=============================================================================
