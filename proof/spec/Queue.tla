------------------------------- MODULE Queue --------------------------------
(***************************************************************************)
(* Tasks and the workers that want them, as far as keys, lines and batches *)
(* have it in common: claim, take over, adopt, end, hand back. What a key, *)
(* a line or a batch adds stands in the same transactions, and in their    *)
(* own modules. Of clocks and heartbeats there is nothing here: Task.tla   *)
(* has them, and what it shows of sessions is what Requests.tla assumes.   *)
(***************************************************************************)
EXTENDS Requests, QueueRows
CONSTANTS Tasks, MaxClaims    \* how many; claims of one task, after which it is not handed back

TaskIds == 1..Tasks
NewTask == [st |-> "ready", ctr |-> 0, ses |-> NoOne, att |-> 0, seq |-> 0, n |-> 0, due |-> 0]
\* has: the task that a worker runs, by the counter ctr. open: it does not know what became of an end that it sent, so it
\* leaves that task alone, and ends its session.
WorkerStart == [inc |-> 0, busy |-> FALSE, has |-> 0, ctr |-> 0, open |-> FALSE]

Settles == {"done", "dead", "retry"}
TaskAccepts(t, r) ==
  CASE r.k = "claim" -> CanClaim(t, r)
    [] r.k = "take" -> IsObserved(t, r)
    [] r.k \in Settles -> IsMine(t, r) \/ (B("endsTwice") /\ t.ctr = r.c)
\* No guard reads session and nonce of a task that has ended.
TaskAfter(t, r) ==
  CASE r.k \in {"claim", "take"} -> Taken(t, r)
    [] r.k \in {"done", "dead"} -> [Finished(t, r, r.k) EXCEPT !.ses = NoOne, !.n = 0]
    [] r.k = "retry" -> Freed(t, r, t.att)
TaskWrong(t, r) == IF r.k = "take" /\ ~IsDead(t.ses) THEN {"robbed"} ELSE {}

TaskTold(q, r, ok, t) ==
  CASE r.k \in {"claim", "take"} /\ (ok \/ t.n = r.n) -> [q EXCEPT !.has = r.i, !.ctr = t.ctr]
    [] r.k \in Settles /\ (ok \/ ~IsMine(t, r)) -> [q EXCEPT !.has = 0]
    \* Refused by another row of the transaction: it looks again.
    [] OTHER -> q
TaskGaveUp(q, r) == IF r.k \in Settles THEN [q EXCEPT !.has = 0, !.open = TRUE] ELSE q

Task(i) == db.t[i]
Used == {Task(i).n : i \in TaskIds}
\* x: what the key, the line or the batch needs beside.
Req(k, w, i, x) ==
  [k |-> k, i |-> i, s |-> Ses(w), o |-> NoOne, oc |-> 0, on |-> 0, c |-> 0, n |-> Fresh(Used), at |-> 0, due |-> 0,
   heard |-> TRUE, x |-> x]
Free(w) == Idle(w) /\ p[w].has = 0 /\ ~p[w].open
Claims(w, i, x) == /\ Free(w) /\ Task(i).st = "ready"
                   /\ Send(w, [Req("claim", w, i, x) EXCEPT !.oc = Task(i).ctr, !.on = Task(i).n])
TakeOver(w, i) == /\ Free(w) /\ Task(i).st = "running" /\ IsDead(Task(i).ses)
                  /\ Send(w, [Req("take", w, i, <<>>) EXCEPT !.o = Task(i).ses, !.oc = Task(i).ctr])
Adopt(w, i) == /\ Free(w) /\ Task(i).st = "running" /\ Task(i).ses = Ses(w)
               /\ Becomes(w, [p[w] EXCEPT !.has = i, !.ctr = Task(i).ctr])
Works(w) == Idle(w) /\ p[w].has # 0
Settle(w, k, x) == Works(w) /\ Send(w, [Req(k, w, p[w].has, x) EXCEPT !.c = p[w].ctr])
MayRetry(w) == p[w].has # 0 /\ p[w].ctr < MaxClaims
Quit(w) == p[w].open /\ Ends(w) /\ UNCHANGED <<db, budget, wrong>>

Running == {i \in TaskIds : Task(i).st = "running"}
IsOverTask(t) == t.st \in {"done", "dead", "cancelled"}
\* I5: no task is taken from a session that lives. I14: what a worker relies on is its own.
I5_NoOrphan == "robbed" \notin wrong
I14_One == \A w \in Workers : p[w].has # 0 /\ ~p[w].busy => Task(p[w].has).st = "running" /\ Task(p[w].has).ses = Ses(w)
=============================================================================
