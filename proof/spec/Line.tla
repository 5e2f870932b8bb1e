-------------------------------- MODULE Line --------------------------------
(***************************************************************************)
(* A line: the tasks of one key that run one at a time, in the order in    *)
(* which they were enqueued. A task joins with a ticket; the first of an   *)
(* empty line is its head and in sight, the others are held. What ends the *)
(* head makes the next one the head, or closes the line, in the same       *)
(* transaction. Any process here enqueues, and any works.                  *)
(*                                                                         *)
(* Left out: tasks that another spawns with its commit, and heads that     *)
(* wait for children.                                                      *)
(***************************************************************************)
EXTENDS Queue

LineInit == [l |-> [head |-> 0, tail |-> 0], place |-> [k \in TaskIds |-> 0],
             t |-> [i \in TaskIds |-> [NewTask EXCEPT !.st = "absent"]]]
LineStart(w) == WorkerStart

-----------------------------------------------------------------------------
(* The store: each request is one transaction. *)

Joins(x, r) == IF B("joinBlind") THEN TRUE
               ELSE CanJoin(x.l, [r.x EXCEPT !.hasHead = IF B("joinAnyHead") THEN x.l.head # 0 ELSE @])
LeavesLine(x, r) ==
  IF r.x.to = 0 THEN CanClose(x.l, [r.x EXCEPT !.tail = IF B("closeBlind") THEN x.l.tail ELSE @])
  ELSE CanAdvance(x.l, r.x) /\ (B("callBlind") \/ (IsPlaceTaken(x.place[r.x.ticket]) /\ CanCall(x.t[r.x.to], r.x)))
LineAccepts(x, r) ==
  CASE r.k = "join" -> /\ x.t[r.i].st = "absent" /\ Joins(x, r)
                       /\ r.x.hasHead => (B("placeBlind") \/ IsPlaceFree(x.place[r.x.tail + 1]))
    [] r.k = "claim" -> TaskAccepts(x.t[r.i], r) /\ (B("claimsHeld") \/ ~x.t[r.i].held)
    [] r.k \in {"done", "dead"} -> TaskAccepts(x.t[r.i], r) /\ LeavesLine(x, r)
    [] r.k = "cancel" -> IsUntouched(x.t[r.i], r) /\ IsPlaceTaken(x.place[r.x.ticket])
    [] OTHER -> TaskAccepts(x.t[r.i], r)
Over(x, r) == [x EXCEPT !.t[r.i] = [TaskAfter(@, r) EXCEPT !.ticket = 0]]
LineAfter(x, r) ==
  CASE r.k = "join" ->
         [l |-> LineJoined(x.l, r.x), place |-> IF r.x.hasHead THEN [x.place EXCEPT ![r.x.tail + 1] = r.i] ELSE x.place,
          t |-> [x.t EXCEPT ![r.i] = [NewTask EXCEPT !.n = r.n, !.ticket = r.x.tail + 1, !.held = r.x.hasHead]]]
    [] r.k \in {"done", "dead"} /\ r.x.to = 0 -> [Over(x, r) EXCEPT !.l = LineClosed(@)]
    [] r.k \in {"done", "dead"} ->
         [Over(x, r) EXCEPT !.l = LineAdvanced(@, r.x), !.place[r.x.ticket] = 0, !.t[r.x.to] = TaskCalled(@, [ticket |-> 0, n |-> r.x.n])]
    [] r.k = "cancel" -> [x EXCEPT !.t[r.i] = [Finished(@, r, "cancelled") EXCEPT !.n = 0, !.held = FALSE, !.ticket = 0],
                                   !.place[r.x.ticket] = 0]
    [] OTHER -> [x EXCEPT !.t[r.i] = TaskAfter(@, r)]
\* It begins while one that joined before it has not ended.
LineWrong(x, r) ==
  (IF r.k \in {"claim", "take", "retry", "done", "dead"} THEN TaskWrong(x.t[r.i], r) ELSE {})
  \cup (IF r.k = "claim" /\ \E j \in TaskIds : x.t[j].st \in {"ready", "running"} /\ x.t[j].ticket < x.t[r.i].ticket
        THEN {"turn"} ELSE {})

-----------------------------------------------------------------------------
(* Processes. *)

LineTold(q, r, ok, x) == IF r.k \in {"join", "cancel"} THEN q ELSE TaskTold(q, r, ok, x.t[r.i])
Seen(i, to, ticket, n) == [me |-> i, tail |-> db.l.tail, hasHead |-> db.l.head # 0, to |-> to, ticket |-> ticket, n |-> n]
Join(w, i) == /\ Free(w) /\ Task(i).st = "absent" /\ db.l.tail < Tasks /\ \A j \in 1..(i - 1) : Task(j).st # "absent"
              /\ Send(w, Req("join", w, i, Seen(i, 0, 0, 0)))
Claim(w, i) == Claims(w, i, <<>>)
\* The next place, as the line is when the end is sent.
TakenPlaces == {k \in TaskIds : db.place[k] # 0}
First == CHOOSE k \in TakenPlaces : \A j \in TakenPlaces : k <= j
Ending == IF TakenPlaces = {} THEN Seen(0, 0, 0, 0) ELSE Seen(0, db.place[First], First, Fresh(Used))
Done(w) == Settle(w, "done", [Ending EXCEPT !.me = p[w].has, !.n = IF @ = 0 THEN 0 ELSE Fresh(Used \cup {Fresh(Used)})])
Retry(w) == MayRetry(w) /\ Settle(w, "retry", <<>>)
Cancel(w, i) == /\ Free(w) /\ Task(i).held /\ budget > 0
                /\ Send(w, [Req("cancel", w, i, Seen(i, 0, Task(i).ticket, 0)) EXCEPT !.on = Task(i).n])

Next == \/ Network
        \/ \E w \in Workers : Done(w) \/ Retry(w) \/ Quit(w)
        \/ \E w \in Workers, i \in TaskIds : Join(w, i) \/ Claim(w, i) \/ TakeOver(w, i) \/ Adopt(w, i) \/ Cancel(w, i)
Spec == Init /\ [][Next]_vars
Steps(w) == Done(w) \/ \E i \in TaskIds : Claim(w, i) \/ TakeOver(w, i) \/ Adopt(w, i)
Fair == Spec /\ FairNetwork /\ \A w \in Workers : WF_vars(Quit(w)) /\ SF_vars(Steps(w))

-----------------------------------------------------------------------------
Stands(i) == Task(i).st \in {"ready", "running"}
ORDER_One == Cardinality(Running) <= 1
ORDER_Turn == "turn" \notin wrong
\* The one in sight is the head, a line in which a task stands has one, and the head has not ended.
ORDER_Head == /\ \A i \in TaskIds : Stands(i) => (Task(i).held <=> db.l.head # i) /\ db.l.head # 0
              /\ db.l.head # 0 => Stands(db.l.head)
\* Each held task has a place of its own.
ORDER_Place == \A i \in TaskIds : Stands(i) /\ Task(i).held => db.place[Task(i).ticket] = i
\* Each that was enqueued ends.
JoinedEnd == \A i \in TaskIds : Stands(i) ~> IsOverTask(Task(i))
=============================================================================
