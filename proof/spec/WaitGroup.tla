----------------------------- MODULE WaitGroup ------------------------------
(***************************************************************************)
(* A wait group: members are added, leased to sessions, done; a waiter     *)
(* walks through them once the group is sealed, writes down as lost those  *)
(* whose session is dead, and writes the counts. Then the group begins its *)
(* next generation, in which requests of the one before are still late.    *)
(*                                                                         *)
(* Left out: several members in one request, and the sweep.                *)
(***************************************************************************)
EXTENDS Requests, SharedRows
CONSTANTS Members, Gens    \* how many of each

NoMember == [st |-> "absent", ses |-> NoOne, n |-> 0]
GroupInit == [g |-> [gen |-> 1, st |-> "open", members |-> 0 - 1, lost |-> 0 - 1],
              m |-> [gen \in 1..Gens |-> [i \in 1..Members |-> NoMember]]]
\* walk: the generation that it has seen sealed (0: none), how far it has come, how many of those were lost.
NoWalk == [gen |-> 0, at |-> 0, members |-> 0, lost |-> 0]
GroupStart(w) == [inc |-> 0, busy |-> FALSE, walk |-> NoWalk]

-----------------------------------------------------------------------------
(* The store. A switch that drops a comparison compares the row with itself. *)

Row(x, r) == x.m[r.gen][r.i]
InGroup(x, r, st) == IsGroupIn(x.g, [r EXCEPT !.gen = IF B("anyGeneration") THEN x.g.gen ELSE @], st)
GroupAccepts(x, r) ==
  CASE r.k = "add" -> InGroup(x, r, IF B("addsSealed") THEN x.g.st ELSE "open")
    [] r.k = "seal" -> InGroup(x, r, "open")
    [] r.k = "complete" -> InGroup(x, r, IF B("completesOpen") THEN x.g.st ELSE "sealed")
    [] r.k = "begin" -> InGroup(x, r, "complete")
    [] r.k = "lease" -> CanLease(Row(x, r), [r EXCEPT !.on = IF B("leaseBlind") THEN Row(x, r).n ELSE @])
    [] r.k = "done" -> IsPending(Row(x, r)) \/ (B("finishesTwice") /\ Row(x, r).st # "absent")
    [] r.k = "lose" -> IF B("losesDone") /\ Row(x, r).st = "done" THEN TRUE
                       ELSE CanLose(Row(x, r), [r EXCEPT !.ses = IF B("losesAny") THEN Row(x, r).ses ELSE @])
\* No guard reads session and nonce of a member that has ended.
Wiped(m) == [m EXCEPT !.ses = NoOne, !.n = 0]
GroupAfter(x, r) ==
  CASE r.k = "add" -> [x EXCEPT !.m[r.gen][r.i] = MemberAdded(@, r)]
    [] r.k = "seal" -> [x EXCEPT !.g = GroupSealed(@)]
    [] r.k = "complete" -> [x EXCEPT !.g = GroupCompleted(@, r)]
    [] r.k = "begin" -> [x EXCEPT !.g = GroupBegun(@)]
    [] r.k = "lease" -> [x EXCEPT !.m[r.gen][r.i] = MemberLeased(@, r)]
    [] r.k = "done" -> [x EXCEPT !.m[r.gen][r.i] = Wiped(MemberEnded(@, r, "done"))]
    [] r.k = "lose" -> [x EXCEPT !.m[r.gen][r.i] = Wiped(MemberEnded(@, r, "lost"))]
\* A member comes after the count, one that has ended changes, one is lost under a session that lives, or an earlier lease
\* undoes a later one.
GroupWrong(x, r) ==
  (IF r.k = "add" /\ Row(x, r).st = "absent" /\ (x.g.gen # r.gen \/ x.g.st # "open") THEN {"late"} ELSE {})
  \cup (IF r.k \in {"done", "lose", "lease"} /\ Row(x, r).st # "pending" THEN {"twice"} ELSE {})
  \cup (IF r.k = "lose" /\ ~IsDead(Row(x, r).ses) THEN {"robbed"} ELSE {})
  \cup (IF r.k = "lease" /\ (IF r.on = 0 THEN Row(x, r).ses # NoOne ELSE Row(x, r).n # r.on) THEN {"undone"} ELSE {})

-----------------------------------------------------------------------------
(* Processes. *)

GroupTold(q, r, ok, x) ==
  IF r.k = "complete" THEN [q EXCEPT !.walk = NoWalk] ELSE q
GroupGaveUp(q, r) == q
Req(k, gen, i) == [k |-> k, s |-> NoOne, n |-> 0, on |-> 0, heard |-> TRUE, gen |-> gen, i |-> i, ses |-> NoOne,
                   members |-> 0, lost |-> 0]
Used == {db.m[gen][i].n : gen \in 1..Gens, i \in 1..Members}
Now == db.m[db.g.gen]
Add(w, i) == /\ Idle(w) /\ db.g.st = "open" /\ Now[i].st = "absent"
             /\ \E s \in {NoOne, Ses(w)} : Send(w, [Req("add", db.g.gen, i) EXCEPT !.ses = s, !.n = Fresh(Used)])
Seal(w) == Idle(w) /\ db.g.st = "open" /\ (\E i \in 1..Members : Now[i].st # "absent") /\ Send(w, Req("seal", db.g.gen, 1))
Lease(w, i) == /\ Idle(w) /\ Now[i].st = "pending" /\ Now[i].ses # Ses(w)
               /\ Send(w, [Req("lease", db.g.gen, i) EXCEPT !.ses = Ses(w), !.n = Fresh(Used),
                           !.on = IF Now[i].ses = NoOne THEN 0 ELSE Now[i].n])
Done(w, i) == Idle(w) /\ Now[i].st = "pending" /\ Now[i].ses \in {NoOne, Ses(w)} /\ Send(w, Req("done", db.g.gen, i))
\* No member comes after the seal, and one that has ended stays so: what was passed need not be read again.
Look(w) == /\ Idle(w) /\ p[w].walk.gen = 0 /\ (db.g.st = "sealed" \/ (B("walksOpen") /\ db.g.st = "open"))
           /\ Becomes(w, [p[w] EXCEPT !.walk.gen = db.g.gen])
NextMember(w) == db.m[p[w].walk.gen][p[w].walk.at + 1]
Walks(w) == Idle(w) /\ p[w].walk.gen # 0 /\ p[w].walk.at < Members
Pass(w) == /\ Walks(w) /\ NextMember(w).st # "pending"
           /\ Becomes(w, [p[w] EXCEPT !.walk.at = @ + 1, !.walk.members = @ + (IF NextMember(w).st = "absent" THEN 0 ELSE 1),
                                      !.walk.lost = @ + (IF NextMember(w).st = "lost" THEN 1 ELSE 0)])
Lose(w) == /\ Walks(w) /\ NextMember(w).st = "pending" /\ IsDead(NextMember(w).ses) /\ ~B("waitsForDead")
           /\ Send(w, [Req("lose", p[w].walk.gen, p[w].walk.at + 1) EXCEPT !.ses = NextMember(w).ses])
Complete(w) == /\ Idle(w) /\ p[w].walk.gen # 0 /\ p[w].walk.at = Members
               /\ Send(w, [Req("complete", p[w].walk.gen, 1) EXCEPT !.members = p[w].walk.members, !.lost = p[w].walk.lost])
Begin(w) == Idle(w) /\ db.g.st = "complete" /\ db.g.gen < Gens /\ Send(w, Req("begin", db.g.gen, 1))

Next == \/ Network
        \/ \E w \in Workers : Seal(w) \/ Look(w) \/ Pass(w) \/ Lose(w) \/ Complete(w) \/ Begin(w)
        \/ \E w \in Workers, i \in 1..Members : Add(w, i) \/ Lease(w, i) \/ Done(w, i)
Spec == Init /\ [][Next]_vars
Steps(w) == Pass(w) \/ Lose(w) \/ Look(w) \/ Complete(w) \/ \E i \in 1..Members : Done(w, i)
Fair == Spec /\ FairNetwork /\ \A w \in Workers : SF_vars(Steps(w))

-----------------------------------------------------------------------------
(* I13: a group counts each member once, and waits for no dead one. *)
Count(gen, states) == Cardinality({i \in 1..Members : db.m[gen][i].st \in states})
I13_Counts == db.g.st = "complete" => /\ db.g.members = Count(db.g.gen, {"done", "lost"}) /\ Count(db.g.gen, {"pending"}) = 0
                                      /\ db.g.lost = Count(db.g.gen, {"lost"})
I13_Late == "late" \notin wrong
I13_Final == "twice" \notin wrong
I13_Lost == "robbed" \notin wrong
I13_Lease == "undone" \notin wrong
\* A group that is sealed is complete at last.
Completes == db.g.st = "sealed" ~> db.g.st = "complete"
=============================================================================
