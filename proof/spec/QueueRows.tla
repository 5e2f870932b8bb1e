----------------------------- MODULE QueueRows ------------------------------
(***************************************************************************)
(* Statements of keys, lines, batches, schedules and journals as operators *)
(* on rows, like those of Rows. What stands in one transaction is one      *)
(* write of the model: all of its guards hold, or nothing happens.         *)
(***************************************************************************)
EXTENDS Rows, FiniteSets, Sequences

(* A key's row counts its tasks that run. *)

\* key.enter, in the transaction of task.claim: fewer run than the limit. For several claims it is written once.
HasRoomFor(running, limit, count) == running < limit - (count - 1)
HasRoom(running, limit) == HasRoomFor(running, limit, 1)
KeyEntered(running) == running + 1
\* key.leave, in the transaction that takes the task out of `running`: the row counts one. Refused, the task ends without it.
\* Refused for several tasks, each is sent on its own.
CanLeaveKeyAll(running, count) == running > count - 1
CanLeaveKey(running) == CanLeaveKeyAll(running, 1)
KeyLeft(running) == running - 1

(* A task t has, beside the fields of Rows, stands: where it is in the     *)
(* index (Key), or whether it is in its line (Line).                       *)

\* task.join: as it would be claimed. Apart from the others of its key, or it would have another nonce.
CanJoinOthers(t, a) == CanClaim(t, a)
TaskJoined(t, a) == [t EXCEPT !.stands = "group", !.n = a.n]

(* A line l has there (whether it has a row), tail (the last ticket), turn *)
(* (the ticket whose turn it is; tail + 1: nobody waits) and ttl (whether  *)
(* the row may be swept). A task in a line has its ticket.                 *)

\* line.join: no task has joined since it was read, or it had no row, as then. A new row's tail is the clock.
CanJoin(l, a) == IF a.isNew THEN ~l.there ELSE l.there /\ l.tail = a.tail
\* For several tasks it is written once, and they get the next tickets.
LineJoinedBy(l, a, count) ==
  [there |-> TRUE, tail |-> a.tail + count, turn |-> IF a.isNew THEN a.tail + 1 ELSE l.turn, ttl |-> FALSE]
LineJoined(l, a) == LineJoinedBy(l, a, 1)
\* line.pass: it is the turn of this ticket; if it was the last one, no task has joined since it was read.
CanPass(l, a) == l.there /\ l.turn = a.ticket /\ (a.isLast => l.tail = a.tail)
LinePassed(l, a) == [l EXCEPT !.turn = a.ticket + 1, !.ttl = @ \/ a.isLast]
\* task.leaveLine, in the transaction of line.pass: not written since it was read, when it was cancelled and in its line.
CanLeaveLine(t, a) == t.n = a.on
LineLeft(t, a) == [t EXCEPT !.stands = FALSE, !.n = a.n]

(* A batch's row has pending: the children that have not ended. *)

\* batch.countDown, in the transaction that ends a child: others are pending, or (countLast) none but this one.
CanCountDown(pending) == pending > 1
CanCountLast(pending) == pending = 1
CountedDown(pending) == pending - 1
\* task.wake, in the transaction of countLast: the waiter waits for it. Without it, that one must not wait (isNotWaiting).
CanWake(waiter) == waiter = "waits"
IsNotWaiting(waiter) == waiter # "waits"
Woken(waiter) == "due"
\* task.revive of a waiter: with isPending in the transaction it waits again, else the batch was read with none pending.
CanWaitAgain(pending) == pending > 0

(* A schedule x has next (its next occurrence) and n. *)

\* schedule.advance: not written since it was read.
CanAdvanceSchedule(x, a) == x.n = a.on
ScheduleAdvanced(x, a) == [x EXCEPT !.next = a.next, !.n = a.n]
\* tick.take, task.enqueue, batch.create: the row is absent.
IsAbsent(row) == row = "absent"

(* The row of a durable task: t (the task), tail (the elements in the row, *)
(* each of which is a sequence of entries), part (the name of the newest   *)
(* row of older entries), rows (all such rows that were ever put) and open *)
(* (whether its callback waits). `a` has all (the entries of the tail that *)
(* its writer has folded), new (what it adds), seen (how many elements it  *)
(* has folded), part and before (the names of a new row and the one        *)
(* before it).                                                             *)

\* task.checkpoint, task.spill, task.suspend: what is in the row has been seen.
HasSeen(x, a) == Len(x.tail) = a.seen
CanWriteJournal(x, a) == IsMyLater(x.t, a) /\ HasSeen(x, a)
\* task.checkpoint: what its holder knows is one element.
Checkpointed(x, a) == [x EXCEPT !.t = Progressed(@, a), !.tail = <<a.all \o a.new>>]
\* journal.put: unguarded. Nobody reads it before the task's row names it, or a row that is named does.
PartPut(x, a) == [x EXCEPT !.rows = {r \in @ : r.n # a.part} \cup {[n |-> a.part, b |-> a.before, e |-> a.all \o a.new]}]
\* task.spill: the entries leave the row, which names the part.
Spilled(x, a) == [x EXCEPT !.t = Progressed(@, a), !.tail = <<>>, !.part = a.part]
\* task.suspend: likewise, and ready again at its time. The attempt is given back.
Suspended(x, a) == [x EXCEPT !.t = Freed(@, a, 0), !.tail = IF a.all = <<>> THEN <<>> ELSE <<a.all>>]
\* task.arrive: it waits, in the state that was read; if it was ready, not written since. One that runs keeps its nonce.
CanArrive(x, a) == x.open /\ x.t.st = a.st /\ (a.st = "ready" => x.t.n = a.on)
Arrived(x, a) == [x EXCEPT !.tail = Append(@, a.new), !.open = FALSE,
                           !.t = IF a.st = "ready" THEN [@ EXCEPT !.n = a.n, !.due = 0] ELSE @]
=============================================================================
