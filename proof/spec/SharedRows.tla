----------------------------- MODULE SharedRows -----------------------------
(***************************************************************************)
(* Statements of wait groups and rate limits as operators on rows, like    *)
(* those of Rows: `a` holds the arguments, each instant is a number.       *)
(***************************************************************************)
EXTENDS Rows

(* The row g of a wait group: gen (its generation), st (open, sealed,      *)
(* complete), members and lost (how many there were; -1: not counted).     *)

\* waitgroup.add, waitgroup.seal, waitgroup.complete, waitgroup.begin: in this generation, and in the state it must be in.
IsGroupIn(g, a, st) == g.gen = a.gen /\ g.st = st
GroupSealed(g) == [g EXCEPT !.st = "sealed"]
GroupCompleted(g, a) == [g EXCEPT !.st = "complete", !.members = a.members, !.lost = a.lost]
GroupBegun(g) == [g EXCEPT !.st = "open", !.gen = @ + 1, !.members = 0 - 1, !.lost = 0 - 1]

(* A member m: st (absent, pending, done, lost), ses (who works on it), n. *)

\* waitgroup.add: one that is there stays as it is.
MemberAdded(m, a) == IF m.st = "absent" THEN [st |-> "pending", ses |-> a.ses, n |-> a.n] ELSE m
\* waitgroup.lease: pending, and without a lease (a.on = 0), or not written since it was read.
CanLease(m, a) == m.st = "pending" /\ (IF a.on = 0 THEN m.ses = NoOne ELSE m.n = a.on)
MemberLeased(m, a) == [m EXCEPT !.ses = a.ses, !.n = a.n]
\* waitgroup.done: pending. waitgroup.lose: pending, and leased to the session that was found dead.
IsPending(m) == m.st = "pending"
CanLose(m, a) == IsPending(m) /\ m.ses = a.ses
MemberEnded(m, a, st) == [m EXCEPT !.st = st, !.n = a.n]

(* A bucket b: st (absent, there), empty (when it would have been empty    *)
(* had nothing but the flow filled it since), n. Of a take, a.full is the  *)
(* instant before which a bucket that was empty is full by now, a.enough   *)
(* that up to which it has enough by now, a.cost the time of its tokens.   *)

\* ratelimit.take: not full, with enough, and not last written by this take.
CanTake(b, a) == b.st = "there" /\ b.empty >= a.full /\ b.empty <= a.enough /\ b.n # a.n
Took(b, a) == [b EXCEPT !.empty = @ + a.cost, !.n = a.n]
\* ratelimit.takeFromFull: full, or without a row. What flowed in beyond the brim is gone.
CanTakeFull(b, a) == b.st = "absent" \/ b.empty < a.full
TookFull(b, a) == [st |-> "there", empty |-> a.full + a.cost, n |-> a.n]
=============================================================================
