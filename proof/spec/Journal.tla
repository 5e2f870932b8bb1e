------------------------------ MODULE Journal -------------------------------
(***************************************************************************)
(* The journal of a durable task. Its code asks for a callback, does a     *)
(* step beside it, and waits. Its holder records each as an entry, spills  *)
(* the journal when it likes (it puts a row of its own, and then names it  *)
(* in the task's row), suspends when there is nothing to do, and another   *)
(* claim goes on from what is recorded. The                                *)
(* callback is answered from outside or times out, and its code ends with  *)
(* what the journal has. A worker may die anywhere, and what it sent       *)
(* arrives late, twice or never.                                           *)
(*                                                                         *)
(* The clock is one bit, the same for all: the callback's time is over.    *)
(* Left out: heartbeats, children (they arrive as answers do), requests to *)
(* cancel, entries that wait for the next write, the answers' callers, and *)
(* sessions (Holder.tla).                                                  *)
(***************************************************************************)
EXTENDS Requests, QueueRows
CONSTANTS
  HasTimeout,   \* whether the callback has one
  MaxParts      \* after which the journal is not spilled

NEVER == 2
NoPart == <<0, 0>>
\* log: each entry that the store has ever accepted, in order; saw: with which end of its callback the code ended.
JournalInit == [t |-> [st |-> "ready", ctr |-> 0, ses |-> NoOne, att |-> 0, seq |-> 0, n |-> 0, due |-> 0],
                tail |-> <<>>, rows |-> {}, part |-> NoPart, open |-> FALSE, late |-> FALSE, log |-> <<>>, saw |-> "-"]
\* old and texts: the folded entries of the parts and of the tail. acked: what it was told is recorded.
JournalStart(w) == [inc |-> 0, busy |-> FALSE, pc |-> "out", ctr |-> 0, seq |-> 0, old |-> <<>>, texts |-> <<>>, seen |-> 0,
                    part |-> NoPart, acked |-> {}]

RECURSIVE Flat(_)
Flat(s) == IF s = <<>> THEN <<>> ELSE Head(s) \o Flat(Tail(s))
Range(s) == {s[i] : i \in DOMAIN s}
Has(s, e) == e \in Range(s)
Closing == {"answer", "timeout"}
Of(s, set) == SelectSeq(s, LAMBDA e : e \in set)
EndIn(s) == IF Of(s, Closing) = <<>> THEN "-" ELSE Head(Of(s, Closing))
\* The entries of the rows of older ones, each of which names the one before it; and how many these are.
RECURSIVE Older(_, _)
Older(rows, n) ==
  IF n = NoPart THEN <<>>
  ELSE IF \A r \in rows : r.n # n THEN <<"gone">>
  ELSE LET r == CHOOSE r \in rows : r.n = n IN Older(rows, r.b) \o r.e
RECURSIVE Links(_, _)
Links(rows, n) == IF \A r \in rows : r.n # n THEN 0 ELSE 1 + Links(rows, (CHOOSE r \in rows : r.n = n).b)
Journal(x) == Older(x.rows, x.part) \o Flat(x.tail)

-----------------------------------------------------------------------------
(* The store. *)

CanWrite(x, r, isBlind) ==
  \/ CanWriteJournal(x, r)
  \/ isBlind /\ IsMyLater(x.t, r)
  \/ B("anySequence") /\ IsMine(x.t, r) /\ HasSeen(x, r)
  \/ B("anyHolder") /\ x.t.st = "running" /\ x.t.seq < r.seq /\ HasSeen(x, r)
JournalAccepts(x, r) ==
  CASE r.k = "claim" -> CanClaim(x.t, r)
    [] r.k = "take" -> IsObserved(x.t, r)
    [] r.k = "part" -> TRUE
    [] r.k = "write" -> CanWrite(x, r, B("writesBlind"))
    [] r.k = "suspend" -> CanWrite(x, r, B("suspendsBlind"))
    [] r.k = "end" -> IsMyLater(x.t, r)
    [] r.k = "arrive" -> CanArrive(IF B("arrivesTwice") THEN [x EXCEPT !.open = TRUE] ELSE x, r)

Opened(x, r) == [x EXCEPT !.open = (@ \/ Has(r.new, "ask")) /\ (Has(r.new, "timeout") => B("staysOpen"))]
Reached(x, r) ==
  CASE r.k \in {"claim", "take"} -> [x EXCEPT !.t = [Taken(@, r) EXCEPT !.att = 0, !.due = 0]]
    [] r.k = "part" -> PartPut(x, r)
    [] r.k = "write" -> Opened(IF r.spill THEN Spilled(x, r) ELSE Checkpointed(x, r), r)
    [] r.k = "suspend" -> Suspended(x, r)
    [] r.k = "end" -> [x EXCEPT !.t = Finished(@, r, "done"), !.open = FALSE, !.saw = r.saw]
    [] r.k = "arrive" -> LET y == Arrived(x, r) IN
                         IF B("arrivesAsleep") THEN [y EXCEPT !.t.due = x.t.due]
                         ELSE IF B("arriveRenames") THEN [y EXCEPT !.t.n = r.n] ELSE y
JournalAfter(x, r) == [Reached(x, r) EXCEPT !.log = IF r.k = "part" THEN @ ELSE @ \o r.new]
JournalWrong(x, r) ==
  (IF r.k \in {"write", "suspend", "end"} /\ ~IsMine(x.t, r) THEN {"superseded"} ELSE {})
  \cup (IF r.k = "arrive" /\ EndIn(x.log) # "-" THEN {"over"} ELSE {})
  \cup (IF r.k = "take" /\ ~IsDead(x.t.ses) THEN {"robbed"} ELSE {})

-----------------------------------------------------------------------------
(* Holders. *)

Out(q) == [q EXCEPT !.pc = "out", !.ctr = 0, !.seq = 0, !.old = <<>>, !.texts = <<>>, !.seen = 0, !.part = NoPart]
\* A claim folds what is recorded.
Opens(q, x) == [q EXCEPT !.pc = "run", !.ctr = x.t.ctr, !.seq = 0, !.old = IF B("partsUnread") THEN <<>> ELSE Older(x.rows, x.part),
                         !.texts = Flat(x.tail), !.seen = Len(x.tail), !.part = x.part]
\* The row that refused has something new.
Folds(q, x) ==
  IF B("foldsNothing") THEN [q EXCEPT !.pc = "run", !.seq = @ - 1]
  ELSE [q EXCEPT !.pc = "run", !.texts = @ \o Flat(SubSeq(x.tail, q.seen + 1, Len(x.tail))), !.seen = Len(x.tail)]
Recorded(q, r) ==
  LET all == r.all \o r.new IN
  IF r.spill THEN [q EXCEPT !.old = @ \o all, !.texts = <<>>, !.seen = 0, !.part = r.part,
                            !.pc = "run", !.acked = @ \cup Range(r.new)]
  ELSE [q EXCEPT !.texts = all, !.seen = 1, !.acked = @ \cup Range(r.new)]
\* A refusal by its own nonce: an earlier attempt was applied.
JournalTold(q, r, ok, x) ==
  LET applied == ok \/ (x.t.n = r.n /\ ~B("guessNo")) \/ B("guessYes") IN
  CASE r.k \in {"claim", "take"} -> IF ok \/ x.t.n = r.n THEN Opens(q, x) ELSE q
    [] r.k = "part" -> [q EXCEPT !.pc = "name"]
    [] r.k = "write" /\ applied -> Recorded(q, r)
    [] r.k \in {"write", "suspend"} /\ IsMine(x.t, r) -> Folds(q, x)
    [] OTHER -> Out(q)
JournalGaveUp(q, r) == q

Nothing == [k |-> "-", s |-> NoOne, c |-> 0, seq |-> 0, o |-> NoOne, oc |-> 0, on |-> 0, n |-> 0, at |-> 0, due |-> 0, st |-> "-",
           all |-> <<>>, new |-> <<>>, seen |-> 0, part |-> NoPart, before |-> NoPart, spill |-> FALSE, saw |-> "-", heard |-> TRUE]
Req(k) == [Nothing EXCEPT !.k = k, !.n = Fresh({db.t.n})]
Now == IF db.late THEN 1 ELSE 0

Free(w) == Idle(w) /\ p[w].pc = "out"
Claim(w) == /\ Free(w) /\ db.t.st = "ready" /\ db.t.due <= Now
            /\ Send(w, [Req("claim") EXCEPT !.oc = db.t.ctr, !.on = db.t.n, !.at = Now])
TakeOver(w) == /\ Free(w) /\ db.t.st = "running" /\ IsDead(db.t.ses)
               /\ Send(w, [Req("take") EXCEPT !.o = db.t.ses, !.oc = db.t.ctr])

Works(w) == Idle(w) /\ p[w].pc = "run"
Folded(q) == q.old \o q.texts
\* What the code asks for next, or what its time has brought.
Wanted(q) ==
  LET f == Folded(q) IN
  IF ~Has(f, "ask") THEN <<"ask">>
  ELSE IF ~Has(f, "step") THEN <<"step">>
  ELSE IF db.late /\ (EndIn(f) = "-" \/ (B("timesOutAnswered") /\ ~Has(f, "timeout"))) /\ ~B("timeoutUnwritten")
       THEN <<"timeout">> ELSE <<>>
\* The write that names a part has the number of the part.
Number(w) == IF p[w].pc = "name" THEN p[w].seq ELSE p[w].seq + 1
SendMine(w, r) ==
  /\ Cardinality(net) < MaxNet
  /\ net' = net \cup {[r EXCEPT !.s = Ses(w), !.c = p[w].ctr, !.seq = Number(w), !.all = p[w].texts, !.seen = p[w].seen]}
  /\ p' = [p EXCEPT ![w].busy = r.heard, ![w].seq = Number(w), ![w].pc = IF r.heard THEN @ ELSE "name"]
  /\ UNCHANGED <<db, budget, wrong>>
Checkpoint(w) == LET want == Wanted(p[w]) IN
  Works(w) /\ want # <<>> /\ SendMine(w, [Req("write") EXCEPT !.new = want])
PartName(w) == <<IF B("partUncounted") THEN 1 ELSE p[w].ctr, Number(w)>>
Put(w) == LET want == Wanted(p[w]) IN
  /\ Works(w) /\ want # <<>> /\ Links(db.rows, p[w].part) < MaxParts
  /\ SendMine(w, [Req("part") EXCEPT !.new = want, !.part = PartName(w), !.before = p[w].part, !.heard = ~B("partUnheard")])
Spill(w) == /\ Idle(w) /\ p[w].pc = "name"
            /\ SendMine(w, [Req("write") EXCEPT !.new = Wanted(p[w]), !.spill = TRUE, !.part = PartName(w)])
Saw(q) == IF EndIn(Folded(q)) = "-" /\ db.late /\ B("timeoutUnwritten") THEN "timeout" ELSE EndIn(Folded(q))
Suspend(w) == /\ Works(w) /\ Wanted(p[w]) = <<>> /\ Saw(p[w]) = "-"
              /\ SendMine(w, [Req("suspend") EXCEPT !.due = IF HasTimeout THEN 1 ELSE NEVER])
End(w) == /\ Works(w) /\ Wanted(p[w]) = <<>> /\ Saw(p[w]) # "-"
          /\ SendMine(w, [Req("end") EXCEPT !.saw = Saw(p[w])])

-----------------------------------------------------------------------------
(* Beside them. *)

\* Somebody has read the row, and answers.
Answer == /\ (db.open \/ B("arrivesTwice")) /\ db.t.st \in {"ready", "running"} /\ Cardinality(net) < MaxNet
          /\ net' = net \cup {[Req("arrive") EXCEPT !.st = db.t.st, !.on = IF db.t.st = "ready" THEN db.t.n ELSE 0,
                                                    !.new = <<"answer">>, !.heard = FALSE]}
          /\ UNCHANGED <<db, p, budget, wrong>>
TimeIsUp == HasTimeout /\ Has(db.log, "ask") /\ ~db.late /\ db' = [db EXCEPT !.late = TRUE] /\ UNCHANGED <<net, p, budget, wrong>>
\* An attempt is on its way, and its sender sends another.
Resend == \E m \in net : /\ m.heard /\ Cardinality(net) < MaxNet /\ Pay /\ net' = net \cup {[m EXCEPT !.heard = FALSE]}
                         /\ UNCHANGED <<db, p, wrong>>

Next == \/ ArriveMute \/ GetLost \/ Repeat \/ Resend \/ Answer \/ TimeIsUp
        \/ \E w \in Workers : \/ Hear(w) \/ Die(w) \/ Claim(w) \/ TakeOver(w)
                              \/ Checkpoint(w) \/ Put(w) \/ Spill(w) \/ Suspend(w) \/ End(w)
Spec == Init /\ [][Next]_vars
Steps(w) == Claim(w) \/ TakeOver(w) \/ Checkpoint(w) \/ Spill(w) \/ Suspend(w) \/ End(w)
Fair == Spec /\ FairNetwork /\ \A w \in Workers : SF_vars(Steps(w))

-----------------------------------------------------------------------------
\* What was accepted stays, in its order; what a holder was told is recorded is there; and only the latest claim's adds to it.
JOURNAL_Stays == Journal(db) = db.log
JOURNAL_Told == \A w \in Workers : p[w].acked \subseteq Range(db.log)
JOURNAL_Mine == "superseded" \notin wrong
\* What is recorded is not done again: another claim would record it a second time.
ONCE_Recorded == \A some \in {{"ask"}, {"step"}, Closing} : Len(Of(db.log, some)) <= 1
\* Once a callback is answered its task does not sleep, and its code ends with what the journal has.
ARRIVE_Wakes == Has(db.log, "answer") /\ db.t.st = "ready" => db.t.due = 0
ARRIVE_Seen == db.t.st = "done" => db.saw = EndIn(db.log)
OPEN_Once == "over" \notin wrong
I5_NoOrphan == "robbed" \notin wrong
\* An answered task ends, also without a timeout that would wake it.
AnsweredEnds == Has(db.log, "answer") ~> (db.t.st = "done")
=============================================================================
