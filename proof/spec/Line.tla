-------------------------------- MODULE Line --------------------------------
(***************************************************************************)
(* A line: the tasks of one key that run one at a time, in the order in    *)
(* which they were enqueued. A task joins with a ticket, alone or with the *)
(* next one in one transaction, all or nothing. It is claimed by           *)
(* a worker that knows that its turn has come: a claim does not write the  *)
(* line, because a turn only grows. What ends the task whose turn it is    *)
(* passes the turn in the same transaction. A task that is cancelled       *)
(* before its turn stays in its line until a worker meets it at its turn.  *)
(*                                                                         *)
(* Rows of tasks that have ended, and of lines without tasks, are swept,   *)
(* days later, so that no request is still under way. A waiting row may be *)
(* lost, by hand; an operator passes its turn.                             *)
(*                                                                         *)
(* Left out: tasks that another spawns with its commit, those that wait    *)
(* for children, the loss of a line's row, and the lag of the index, which *)
(* only delays.                                                            *)
(***************************************************************************)
EXTENDS Queue
CONSTANT Tickets    \* the last one

NoLine == [there |-> FALSE, tail |-> 0, turn |-> 0, ttl |-> FALSE]
NoTask == [st |-> "absent", ticket |-> 0, stands |-> FALSE] @@ NewTask
\* top: the last ticket of all lives of the line, which the clock exceeds. lost: tickets of lost rows. more: revivals.
LineInit == [l |-> NoLine, top |-> 0, lost |-> {}, more |-> 1, t |-> [i \in TaskIds |-> NoTask]]
\* turn: the last one that it has read.
LineStart(w) == [turn |-> 0] @@ WorkerStart

-----------------------------------------------------------------------------
(* The store: each request is one transaction. *)

Joins(x, r) == CanJoin(x.l, IF B("joinBlind") THEN [isNew |-> ~x.l.there, tail |-> x.l.tail] ELSE r.x)
Passes(x, r) == CanPass(x.l, [ticket |-> IF B("passBlind") THEN x.l.turn ELSE r.x.ticket,
                              isLast |-> r.x.isLast, tail |-> IF B("lastBlind") THEN x.l.tail ELSE r.x.tail])
LineAccepts(x, r) ==
  CASE r.k = "join" -> x.t[r.i].st = "absent" /\ Joins(x, r)
    [] r.k = "joinBoth" -> \A i \in {r.i, r.i + 1} : x.t[i].st = "absent" /\ Joins(x, r)
    [] r.k \in {"done", "dead"} -> TaskAccepts(x.t[r.i], r) /\ Passes(x, r)
    [] r.k = "cancel" -> IsUntouched(x.t[r.i], r) /\ (r.x.isEarly \/ Passes(x, r))
    [] r.k = "leave" -> (B("leaveBlind") \/ CanLeaveLine(x.t[r.i], r)) /\ Passes(x, r)
    [] r.k = "skip" -> Passes(x, r)
    [] r.k = "revive" -> /\ CanRevive(x.t[r.i], [ost |-> "cancelled", on |-> r.on])
                         /\ B("reviveJoins") => Joins(x, r)
    [] OTHER -> TaskAccepts(x.t[r.i], r)
Joined(x, r) == [x EXCEPT !.l = LineJoined(@, r.x), !.top = Greater(@, r.x.tail + 1), !.t[r.i].ticket = r.x.tail + 1]
JoinedBoth(x, r) == [x EXCEPT !.l = LineJoinedBy(@, r.x, IF B("countsOne") THEN 1 ELSE 2), !.top = Greater(@, r.x.tail + 2),
                              !.t[r.i].ticket = r.x.tail + 1, !.t[r.i + 1].ticket = r.x.tail + 2]
Passed(x, r) == [x EXCEPT !.l = LinePassed(@, r.x)]
New(r) == [NoTask EXCEPT !.st = "ready", !.stands = TRUE, !.n = r.n]
\* No guard reads ticket and nonce of a task that has ended and left its line.
Over(t) == [t EXCEPT !.ticket = 0, !.stands = FALSE, !.n = 0]
LineAfter(x, r) ==
  CASE r.k = "join" -> Joined([x EXCEPT !.t[r.i] = New(r)], r)
    [] r.k = "joinBoth" -> JoinedBoth([x EXCEPT !.t[r.i] = New(r), !.t[r.i + 1] = New(r)], r)
    [] r.k \in {"done", "dead"} -> LET over == [x EXCEPT !.t[r.i] = Over(TaskAfter(@, r))]
                                   IN IF B("endsUnpassed") THEN over ELSE Passed(over, r)
    [] r.k = "cancel" /\ r.x.isEarly -> [x EXCEPT !.t[r.i] = [Finished(@, r, "cancelled") EXCEPT !.stands = ~B("cancelLeaves")]]
    [] r.k = "cancel" -> Passed([x EXCEPT !.t[r.i] = Over(Finished(@, r, "cancelled"))], r)
    [] r.k = "leave" -> Passed([x EXCEPT !.t[r.i] = Over(LineLeft(@, r))], r)
    [] r.k = "skip" -> Passed(x, r)
    [] r.k = "revive" -> LET revived == [x EXCEPT !.t[r.i] = Revived(@, r), !.more = 0]
                         IN IF B("reviveJoins") THEN Joined(revived, r) ELSE revived
    [] OTHER -> [x EXCEPT !.t[r.i] = TaskAfter(@, r)]
\* It begins while one that joined before it has not ended.
LineWrong(x, r) ==
  (IF r.k \in {"claim", "take", "retry", "done", "dead"} THEN TaskWrong(x.t[r.i], r) ELSE {})
  \cup (IF r.k = "claim" /\ \E j \in TaskIds : x.t[j].st \in {"ready", "running"} /\ x.t[j].ticket < x.t[r.i].ticket
        THEN {"turn"} ELSE {})

Changes(x) == db' = x /\ UNCHANGED <<net, p, wrong>>
Sweep(i) == /\ net = {} /\ IsOverTask(Task(i)) /\ (B("sweepsPlace") \/ ~Task(i).stands)
            /\ Changes([db EXCEPT !.t[i] = NoTask]) /\ UNCHANGED budget
SweepLine == net = {} /\ db.l.ttl /\ Changes([db EXCEPT !.l = NoLine]) /\ UNCHANGED budget
Lose(i) == /\ Pay /\ Task(i).stands /\ Task(i).st # "running"
           /\ Changes([db EXCEPT !.t[i] = NoTask, !.lost = @ \cup {Task(i).ticket}])

-----------------------------------------------------------------------------
(* Processes. Any enqueues, and any works. *)

LineTold(q, r, ok, x) == IF r.k \in {"join", "joinBoth", "cancel", "leave", "skip", "revive"} THEN q ELSE TaskTold(q, r, ok, x.t[r.i])
\* What a request takes from the line, as it is when the request is sent. A new line's tail is the clock.
Clock == IF B("lineRestarts") THEN 0 ELSE db.top
Seen(ticket) == [ticket |-> ticket, tail |-> IF db.l.there THEN db.l.tail ELSE Clock, isNew |-> ~db.l.there,
                 isLast |-> ticket = db.l.tail, isEarly |-> ticket > db.l.turn]
Asks(w, k, i) == Send(w, [Req(k, w, i, Seen(Task(i).ticket)) EXCEPT !.on = Task(i).n])
Follows(i) == \A j \in 1..(i - 1) : Task(j).st # "absent" \/ \E m \in net : m.k \in {"join", "joinBoth"} /\ m.i = j
Join(w, i) == /\ Free(w) /\ Task(i).st = "absent" /\ Greater(db.top, db.l.tail) < Tickets /\ Follows(i)
              /\ Send(w, Req("join", w, i, Seen(0)))
\* One whose row is there already refuses both; the other then joins alone.
JoinBoth(w, i) == /\ Free(w) /\ i < Tasks /\ Task(i).st = "absent" /\ Greater(db.top, db.l.tail) + 1 < Tickets /\ Follows(i)
                  /\ Send(w, Req("joinBoth", w, i, Seen(0)))
Look(w) == Free(w) /\ db.l.there /\ p[w].turn < db.l.turn /\ Becomes(w, [p[w] EXCEPT !.turn = db.l.turn])
Claim(w, i) == (Task(i).ticket <= p[w].turn \/ B("turnBlind")) /\ Claims(w, i, <<>>)
Done(w) == Works(w) /\ Settle(w, "done", Seen(Task(p[w].has).ticket))
Retry(w) == MayRetry(w) /\ Settle(w, "retry", <<>>)
Cancel(w, i) == Free(w) /\ budget > 0 /\ Task(i).st = "ready" /\ Asks(w, "cancel", i)
Revive(w, i) == Free(w) /\ db.more > 0 /\ Task(i).st = "cancelled" /\ Task(i).stands /\ Asks(w, "revive", i)
\* A worker passes the turn of a cancelled task; an operator passes a turn that no task has.
Leave(w, i) == /\ Free(w) /\ Task(i).st = "cancelled" /\ Task(i).stands /\ db.l.turn = Task(i).ticket
               /\ Asks(w, "leave", i)
Skip(w) == /\ Free(w) /\ db.l.turn <= db.l.tail /\ db.l.there
           /\ \A i \in TaskIds : ~(Task(i).stands /\ Task(i).ticket = db.l.turn)
           /\ Send(w, Req("skip", w, 1, Seen(db.l.turn)))

Next == \/ Network \/ SweepLine
        \/ \E i \in TaskIds : Sweep(i) \/ Lose(i)
        \/ \E w \in Workers : Look(w) \/ Done(w) \/ Retry(w) \/ Skip(w) \/ Quit(w)
        \/ \E w \in Workers, i \in TaskIds : \/ Join(w, i) \/ JoinBoth(w, i) \/ Claim(w, i) \/ TakeOver(w, i) \/ Adopt(w, i)
                                             \/ Cancel(w, i) \/ Revive(w, i) \/ Leave(w, i)
Spec == Init /\ [][Next]_vars
Steps(w) == Look(w) \/ Done(w) \/ Skip(w) \/ \E i \in TaskIds : Claim(w, i) \/ TakeOver(w, i) \/ Adopt(w, i) \/ Leave(w, i)
Fair == Spec /\ FairNetwork /\ \A w \in Workers : WF_vars(Quit(w)) /\ SF_vars(Steps(w))

-----------------------------------------------------------------------------
Unfinished(i) == Task(i).st \in {"ready", "running"}
ORDER_One == Cardinality(Running) <= 1
ORDER_Turn == "turn" \notin wrong
ORDER_Head == \A i \in Running : Task(i).ticket = db.l.turn
\* Each ticket from the turn to the last one is that of one task, unless its row was lost; no other task is in the line.
Owners(k) == {i \in TaskIds : Task(i).ticket = k /\ (Task(i).stands \/ Unfinished(i))}
ORDER_Place == \A k \in 1..Tickets :
  Cardinality(Owners(k)) = IF db.l.there /\ k \in db.l.turn..db.l.tail /\ k \notin db.lost THEN 1 ELSE 0
\* Each that was enqueued ends, or its row is lost.
JoinedEnd == \A i \in TaskIds : Unfinished(i) ~> ~Unfinished(i)
=============================================================================
