------------------------------ MODULE Requests ------------------------------
(***************************************************************************)
(* Processes that send requests to a store, each one at a time. A request  *)
(* may be late, twice or lost, its answer may be lost, and a process may   *)
(* die at any point: what the models of several rows have in common. The   *)
(* rows (db), the guards and the effects come from those models.           *)
(*                                                                         *)
(* The session of process w is <<w, inc>>. It is live, or has ended:       *)
(* Holder.tla is about that. A process that dies comes back with its next  *)
(* session. A fault is a death, a repetition, or an answer that its sender *)
(* no longer waits for; they are counted down.                             *)
(***************************************************************************)
EXTENDS Rows, Sequences, FiniteSets, TLC
CONSTANTS
  Workers,          \* model values, so that they are symmetric
  Faults,           \* how many there may be
  MaxNet,           \* requests under way at once
  Broken,           \* switches that break the protocol; {} is the protocol
  StoreInit,        \* the rows at first
  Start(_),         \* a process at first; it has inc and busy
  Accepts(_, _),    \* of rows and a request: whether the store takes it
  After(_, _),      \* of rows and a request: the rows then
  Told(_, _, _, _), \* a process when it is told: process, request, accepted, rows
  GaveUp(_, _),     \* a process that no longer waits for the answer: process, request
  Wrong(_, _)       \* of rows and an accepted request: the invariants that it breaks
VARIABLES db, net, p, budget, wrong
vars == <<db, net, p, budget, wrong>>
B(what) == what \in Broken
Sym == Permutations(Workers)

Init == db = StoreInit /\ net = {} /\ p = [w \in Workers |-> Start(w)] /\ budget = Faults /\ wrong = {}
Ses(w) == <<w, p[w].inc>>
IsDead(s) == IF s = NoOne THEN FALSE ELSE p[s[1]].inc # s[2]
Idle(w) == ~p[w].busy

\* A nonce is a number that is in use nowhere, so the states stay finitely many. 0 is none.
Fresh(used) == CHOOSE i \in 1..30 : i \notin used \cup {m.n : m \in net} \cup {m.on : m \in net}
Blank == [k |-> "-", s |-> NoOne, n |-> 0, on |-> 0, heard |-> TRUE]
Send(w, r) == /\ Cardinality(net) < MaxNet /\ net' = net \cup {[r EXCEPT !.s = Ses(w)]}
              /\ p' = [p EXCEPT ![w].busy = TRUE] /\ UNCHANGED <<db, budget, wrong>>
Becomes(w, q) == p' = [p EXCEPT ![w] = q] /\ UNCHANGED <<db, net, budget, wrong>>
Pay == budget > 0 /\ budget' = budget - 1

Apply(m) == LET ok == Accepts(db, m) IN
  /\ db' = IF ok THEN After(db, m) ELSE db
  /\ wrong' = IF ok THEN wrong \cup Wrong(db, m) ELSE wrong
Hear(w) == \E m \in net : /\ m.heard /\ m.s = Ses(w) /\ Apply(m) /\ net' = net \ {m}
                          /\ p' = [p EXCEPT ![w] = [Told(@, m, Accepts(db, m), db') EXCEPT !.busy = FALSE]]
                          /\ UNCHANGED budget
\* Without an answer that a process waits for.
ArriveMute == \E m \in net : ~m.heard /\ Apply(m) /\ net' = net \ {m} /\ UNCHANGED <<p, budget>>
GetLost == \E m \in net : ~m.heard /\ net' = net \ {m} /\ UNCHANGED <<db, p, budget, wrong>>
\* It is applied, its answer is lost, and another attempt of it is under way.
Repeat == \E m \in net : Pay /\ Accepts(db, m) /\ Apply(m) /\ UNCHANGED <<net, p>>
GiveUp(w) == \E m \in net : /\ m.heard /\ m.s = Ses(w) /\ Pay
                            /\ net' = (net \ {m}) \cup {[m EXCEPT !.heard = FALSE]}
                            /\ p' = [p EXCEPT ![w] = [GaveUp(@, m) EXCEPT !.busy = FALSE]] /\ UNCHANGED <<db, wrong>>
Ends(w) == /\ p' = [p EXCEPT ![w] = [Start(w) EXCEPT !.inc = p[w].inc + 1]]
           /\ net' = {IF m.s = Ses(w) THEN [m EXCEPT !.heard = FALSE] ELSE m : m \in net}
Die(w) == Pay /\ Ends(w) /\ UNCHANGED <<db, wrong>>

Network == ArriveMute \/ GetLost \/ Repeat \/ \E w \in Workers : Hear(w) \/ GiveUp(w) \/ Die(w)
FairNetwork == WF_vars(ArriveMute \/ GetLost) /\ \A w \in Workers : WF_vars(Hear(w))
=============================================================================
