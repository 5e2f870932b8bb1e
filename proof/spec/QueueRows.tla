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

(* A task t has, beside the fields of Rows, stands (where it is in the     *)
(* index, in Key), held and ticket (it waits in a line).                   *)

\* task.join: as it would be claimed. Apart from the others of its key, or it would have another nonce.
CanJoinOthers(t, a) == CanClaim(t, a)
TaskJoined(t, a) == [t EXCEPT !.stands = "group", !.n = a.n]

(* A line l has head (whose turn it is; 0: it is empty) and tail (the last *)
(* ticket). A place is the task that waits with a ticket; 0 is none.       *)

\* line.join: no task has joined since it was read, and it has a head, or none, as then.
CanJoin(l, a) == l.tail = a.tail /\ (l.head # 0) = a.hasHead
LineJoined(l, a) == [head |-> IF l.head = 0 THEN a.me ELSE l.head, tail |-> a.tail + 1]
\* line.takePlace, line.leavePlace
IsPlaceFree(place) == place = 0
IsPlaceTaken(place) == place # 0
\* line.advance, in the transaction that ends the head: it is its turn. line.close: and no task has joined since.
CanAdvance(l, a) == l.head = a.me
LineAdvanced(l, a) == [l EXCEPT !.head = a.to]
CanClose(l, a) == l.head = a.me /\ l.tail = a.tail
LineClosed(l) == [l EXCEPT !.head = 0]
\* task.call: it is held at this place.
CanCall(t, a) == t.st = "ready" /\ t.ticket = a.ticket /\ t.held
TaskCalled(t, a) == [t EXCEPT !.held = FALSE, !.n = a.n]

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
