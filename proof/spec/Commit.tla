------------------------------- MODULE Commit -------------------------------
(***************************************************************************)
(* The commits of one claim, each in a transaction with a condition of the *)
(* user's that may be false now and true later. A refused commit is barred *)
(* before its caller hears that nothing was applied: a copy of it may      *)
(* still arrive. task.wait does the same.                                  *)
(*                                                                         *)
(* Left out: takeovers and hand-backs, after which a copy has another      *)
(* counter (Task.tla), and the session of the claim (Holder.tla).          *)
(***************************************************************************)
EXTENDS Requests
CONSTANT Commits    \* how many the task's code tries

\* open: the user's condition. by: the number of the commit that was applied, 0 is none.
CommitInit == [t |-> [st |-> "running", ctr |-> 1, ses |-> <<CHOOSE w \in Workers : TRUE, 0>>, att |-> 1, seq |-> 0, n |-> 0],
               open |-> FALSE, by |-> 0]
\* seq and n: of the last commit. told: the numbers of those that its caller takes for not applied.
CommitStart(w) == [inc |-> 0, busy |-> FALSE, pc |-> "run", seq |-> 0, n |-> 0, told |-> {}]

-----------------------------------------------------------------------------
(* The store. *)

CommitAccepts(x, r) ==
  IF r.k = "commit" THEN x.open /\ (IF B("anyNumber") THEN IsMine(x.t, r) ELSE IsMyLater(x.t, r))
  ELSE IsMyLater(x.t, r)
CommitAfter(x, r) ==
  IF r.k = "commit" THEN [x EXCEPT !.t = Finished(@, r, "done"), !.by = r.seq]
  ELSE [x EXCEPT !.t = Progressed(@, IF B("lowBar") THEN [r EXCEPT !.seq = @ - 1] ELSE r)]
CommitWrong(x, r) == IF x.t.st # "running" THEN {"twice"} ELSE {}

-----------------------------------------------------------------------------
(* The claim's worker. *)

Refused(q, seq) == [q EXCEPT !.pc = "run", !.told = @ \cup {seq}]
\* A refusal by its own nonce: an earlier attempt was applied.
CommitTold(q, r, ok, x) ==
  LET applied == ok \/ x.t.n = r.n IN
  CASE r.k = "commit" /\ applied -> [q EXCEPT !.pc = "done"]
    [] r.k = "commit" /\ IsMyLater(x.t, r) -> IF B("unbarred") THEN Refused(q, r.seq) ELSE [q EXCEPT !.pc = "refused"]
    [] r.k = "bar" /\ (applied \/ B("barGuessed")) -> Refused(q, r.seq)
    [] r.k = "bar" /\ x.t.n = q.n -> [q EXCEPT !.pc = "done"]
    [] OTHER -> [q EXCEPT !.pc = "lost"]
CommitGaveUp(q, r) == [q EXCEPT !.pc = "unknown"]

Req(w, k, seq) == [k |-> k, s |-> Ses(w), c |-> 1, seq |-> seq, n |-> Fresh({db.t.n, p[w].n}), on |-> 0, heard |-> TRUE]
Try(w) == /\ Idle(w) /\ p[w].pc = "run" /\ p[w].seq < Commits /\ Cardinality(net) < MaxNet
          /\ LET r == Req(w, "commit", p[w].seq + 1) IN
             /\ net' = net \cup {r}
             /\ p' = [p EXCEPT ![w].busy = TRUE, ![w].seq = r.seq, ![w].n = r.n]
          /\ UNCHANGED <<db, budget, wrong>>
Bar(w) == Idle(w) /\ p[w].pc = "refused" /\ Send(w, Req(w, "bar", p[w].seq))
\* An attempt is on its way, and its sender sends another.
Resend == \E m \in net : /\ m.heard /\ Cardinality(net) < MaxNet /\ Pay /\ net' = net \cup {[m EXCEPT !.heard = FALSE]}
                         /\ UNCHANGED <<db, p, wrong>>
\* Somebody else writes the row of the user's condition.
Change == db' = [db EXCEPT !.open = ~@] /\ UNCHANGED <<net, p, budget, wrong>>

Next == \/ ArriveMute \/ GetLost \/ Repeat \/ Resend \/ Change
        \/ \E w \in Workers : Hear(w) \/ GiveUp(w) \/ Try(w) \/ Bar(w)
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
I0_Told == \A w \in Workers : db.by \notin p[w].told
I16_Once == "twice" \notin wrong
I17_AckTrue == \A w \in Workers : p[w].pc = "done" => db.t.st = "done"
\* Nobody else has the task, so whatever was not applied by an unanswered request is known.
BAR_Known == \A w \in Workers : p[w].pc # "lost"
=============================================================================
