----------------------------- MODULE QueueRows ------------------------------
(***************************************************************************)
(* Statements of keys, lines, batches and schedules as operators on rows,  *)
(* like those of Rows. What stands in one transaction is one write of the  *)
(* model: all of its guards hold, or nothing happens.                      *)
(***************************************************************************)
EXTENDS Rows, FiniteSets

(* A key's row counts its tasks that run. *)

\* key.enter, in the transaction of task.claim: fewer run than the limit.
HasRoom(running, limit) == running < limit
KeyEntered(running) == running + 1
\* key.leave, in the transaction that takes the task out of `running`: the row counts one. Refused, the task ends without it.
CanLeaveKey(running) == running > 0
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
LineJoined(l, a) == [there |-> TRUE, tail |-> a.tail + 1, turn |-> IF a.isNew THEN a.tail + 1 ELSE l.turn, ttl |-> FALSE]
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

(* A schedule x has next (its next slot) and n. *)

\* schedule.advance: not written since it was read.
CanAdvanceSchedule(x, a) == x.n = a.on
ScheduleAdvanced(x, a) == [x EXCEPT !.next = a.next, !.n = a.n]
\* slot.take, task.enqueue, batch.create: the row is absent.
IsAbsent(row) == row = "absent"
=============================================================================
