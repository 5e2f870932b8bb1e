----------------------------- MODULE TraceRows -----------------------------
(***************************************************************************)
(* The lives of task, lock and session rows, as the simulator recorded     *)
(* them in the shipped code, held to Rows. All lives of a file are checked *)
(* in one run: each is an initial state, and from every state there is one *)
(* step at most.                                                           *)
(*                                                                         *)
(* An event is a write that the store applied (its guard must hold, its    *)
(* effect must be the row that was recorded, and what its sender concluded *)
(* from other rows must be true), a write that the store refused (its      *)
(* guard must not hold), a sweep, or a holder that begins or ceases to     *)
(* believe. The ends of sessions are in the lives of the rows that they    *)
(* held, where they are taken as they are: each is judged in its session's *)
(* own life. What is not allowed is printed, and the invariant fails.      *)
(***************************************************************************)
EXTENDS TraceTask, TraceLock, FiniteSets, TLC, Log
\* The life, the place in it, its row (of a task or a lock), its sessions, who believes, tenures that are closed.
VARIABLES tr, i, t, x, who, closed, bad
vars == <<tr, i, t, x, who, closed, bad>>

Life == Traces[tr]
History == Histories[Life.history]
NoRow == CASE Life.kind = "task" -> NoTask [] Life.kind = "lock" -> NoLock [] OTHER -> NoSession
Init == /\ tr \in 1..Len(Traces) /\ i = 1 /\ t = NoRow /\ who = {} /\ closed = {} /\ bad = FALSE
        /\ x = [s \in Life.sessions |-> NoSession]

Event(r) == CASE r[1] = "task" -> TaskEvent(r)
              [] r[1] = "lock" -> LockEvent(r)
              [] r[1] = "session" -> SessionEvent(r)
              [] r[1] = "swept" -> [what |-> "swept", s |-> r[2], at |-> r[3]]
              [] OTHER -> [what |-> r[1], s |-> r[2], c |-> r[3]]
RowSwept == IF Life.kind = "task" THEN TaskSwept(t) ELSE LockSwept(t)
IsOwn == Life.kind = "session"
\* I6, I8: no session expires while its holder believes, where the clocks keep their bound.
LeavesBelief(e) == e.k = "session.expire" /\ e.ok /\ History.holds => who = {}
Allowed(e) ==
  CASE e.what = "task" -> TaskAllows(t, e, x)
    [] e.what = "lock" -> LockAllows(t, e, x, History.holds, History.skew)
    [] e.what = "session" -> IsOwn => SessionAllows(x[e.s], e, History.skew) /\ LeavesBelief(e)
    [] e.what = "swept" -> IF e.s = 0 THEN RowSwept ELSE IsOwn /\ History.holds => SessionSwept(x[e.s], e, History.skew)
    [] OTHER -> TRUE
Take(e) ==
  /\ t' = CASE e.what \in {"task", "lock"} /\ e.ok -> e.y
            [] e.what = "swept" /\ e.s = 0 -> [NoRow EXCEPT !.ctr = t.ctr]
            [] OTHER -> t
  /\ x' = CASE e.what = "session" /\ e.ok -> [x EXCEPT ![e.s] = e.y]
            [] e.what = "swept" /\ e.s # 0 -> [x EXCEPT ![e.s].st = "swept"]
            [] OTHER -> x
  /\ who' = CASE e.what = "believes" -> who \cup {<<e.s, e.c>>}
              [] e.what = "doubts" -> who \ {<<e.s, e.c>>}
              [] OTHER -> who
  /\ closed' = IF \/ e.what = "task" /\ e.ok /\ TaskCloses(e)
                  \/ e.what = "lock" /\ e.ok /\ LockCloses(e)
               THEN closed \cup {t.ctr} ELSE closed
\* I1: of the tenures that are not closed one is believed in at a time, where the clocks keep their bound.
OneBelieves == History.holds => Cardinality({b[2] : b \in who'} \ closed') <= 1
Reject(e, why) == PrintT("REJECTED " \o ToString(<<History.seed, Life.row, i, why, e, t, x, who>>))
Go == /\ ~bad /\ i <= Len(Life.events) /\ tr' = tr
      /\ LET e == Event(History.events[Life.events[i]]) IN
         IF Allowed(e)
         THEN Take(e) /\ i' = i + 1 /\ bad' = (~OneBelieves /\ Reject(e, "two believe"))
         ELSE Reject(e, "not allowed") /\ bad' = TRUE /\ UNCHANGED <<i, t, x, who, closed>>
Spec == Init /\ [][Go]_vars
Accepted == ~bad
=============================================================================
