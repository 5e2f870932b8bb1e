---------------------------- MODULE TraceSession ----------------------------
(***************************************************************************)
(* Session rows as the simulator recorded them: the fields of an event,    *)
(* and what the specification allows it to do to the row x.                *)
(***************************************************************************)
EXTENDS Rows, Sequences

\* Sessions are numbers in a trace; 0 is none.
Ses(n) == IF n = 0 THEN NoOne ELSE <<"s", n>>
\* Beside the fields of Rows: its lock-delay, and the longest time between two of its heartbeats.
NoSession == [st |-> "absent", exp |-> 0, rn |-> 0, n |-> 0, why |-> "-", inv |-> 0, delay |-> 0, beat |-> 0]
\* An event is a tuple; a refused write ends after its arguments.
SessionEvent(r) ==
  [what |-> "session", k |-> r[2], ok |-> r[3] = 1, s |-> r[4],
   a |-> [at |-> r[5], ttl |-> r[6], before |-> r[7], rn |-> r[8], nrn |-> r[9], n |-> r[10], on |-> r[11], why |-> r[12]],
   y |-> IF r[3] = 0 THEN NoSession
         ELSE [st |-> r[13], exp |-> r[14], rn |-> r[15], n |-> r[16], why |-> r[17], inv |-> r[18], delay |-> r[19], beat |-> r[20]]]

SessionGuard(x, e) ==
  CASE e.k = "session.create" -> CanCreate(x)
    [] e.k = "session.renew" -> CanRenew(x, e.a)
    [] e.k = "session.expire" -> CanExpire(x, e.a)
    [] e.k = "session.invalidate" -> CanInvalidate(x)
    [] OTHER -> TRUE
SessionAfter(x, e) ==
  CASE e.k = "session.create" -> Created([x EXCEPT !.delay = e.y.delay, !.beat = e.y.beat], e.a)
    [] e.k = "session.renew" -> Renewed(x, e.a)
    [] e.k \in {"session.expire", "session.invalidate"} -> Invalidated(x, e.a)
    [] OTHER -> x
\* Its renewals are counted one by one; a change by another verb takes something away from it, and leaves it as it is.
SessionWrite(x, e, skew) ==
  /\ SessionGuard(x, e) /\ SessionAfter(x, e) = e.y
  /\ e.k = "session.renew" => e.y.rn = x.rn + 1
  \* A contender leaves the holder the whole of the clock bound.
  /\ e.k = "session.expire" => e.a.before + skew <= e.a.at
SessionAllows(x, e, skew) == IF e.ok THEN SessionWrite(x, e, skew) ELSE ~SessionGuard(x, e)
\* What is swept is over, or expired long ago.
SessionSwept(x, e, skew) == x.st = "invalid" \/ (x.st = "live" /\ x.exp + skew < e.at)

\* What a contender must have found before it takes from, or tidies up after, the session of a row.
Over(x, ses) == ses = NoOne \/ IsOver(x[ses[2]])
OpensAt(x, skew) ==
  CASE x.why \in {"-", "ended"} \/ (x.why = "expired" /\ x.delay = 0) -> 0
    [] x.why = "expired" -> OpenAfterExpiry(x, x.delay, x.beat, skew)
    [] OTHER -> OpenAfterForce(x, x.delay, skew)
=============================================================================
