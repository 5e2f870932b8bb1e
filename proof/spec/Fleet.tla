------------------------------- MODULE Fleet -------------------------------
(***************************************************************************)
(* The permits of a queue's workers, dealt over rows: what Semaphore.tla   *)
(* leaves out. A row gives its share of the limit, here one permit each:   *)
(* row n gives one if the limit is greater than n. A worker asks the rows  *)
(* one by one, each at most once, and before it asks the next one or gives *)
(* up it bars its request in the row that refused. Dispatchers of several  *)
(* versions deal their limits, row by row, in any order, each write on the *)
(* row as it was read; any of them may stop in the middle. Late and        *)
(* repeated requests, lost answers, deaths.                                *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC
CONSTANTS Workers, Limits, Faults, Deals, MaxNet, Broken
VARIABLES rows, net, p, budget, deals, wrong
vars == <<rows, net, p, budget, deals, wrong>>
B(what) == what \in Broken
Sym == Permutations(Workers)
Rows == {0, 1}

Zero == [w \in Workers |-> 0]
\* hold is the limit under which a permit was given, 0 is none; left are the workers whose request is barred.
Blank == [is |-> FALSE, lim |-> 0, hold |-> Zero, left |-> {}]
Dealt(limit) == [Blank EXCEPT !.is = TRUE, !.lim = limit]
\* Dealt for one worker, with one row, or for two.
Init == /\ rows \in {[n \in Rows |-> IF n = 0 THEN Dealt(1) ELSE Blank], [n \in Rows |-> Dealt(2)]}
        /\ net = {} /\ budget = Faults /\ deals = Deals /\ wrong = {}
        \* "out" asks; "refused" bars its request; "in" believes that it holds a permit of row `at`; "going" releases it; "doubt" has no
        \* answer; "done" was told that it holds nothing. `m` is the limit that it declares.
        /\ p = [w \in Workers |-> [pc |-> "out", at |-> 0, busy |-> FALSE, m |-> 0, asked |-> {}]]

Share(n, limit) == IF B("noShare") \/ limit > n THEN 1 ELSE 0
Held(row) == Cardinality({w \in Workers : row.hold[w] # 0})
HasRoom(n, row) == Held(row) < Share(n, row.lim)
Kept(row) == [w \in Workers |-> IF p[w].pc = "dead" THEN 0 ELSE row.hold[w]]

-----------------------------------------------------------------------------
(* The store. *)

Guard(r) == LET row == rows[r.n] IN
  CASE r.k = "admit" -> row.is /\ HasRoom(r.n, row) /\ (row.lim = r.m \/ B("noAgree")) /\ row.hold[r.w] = 0
                        /\ (r.w \notin row.left \/ B("noBar"))
    [] r.k = "forgo" -> r.w \notin row.left
    [] r.k = "release" -> row.hold[r.w] # 0
    [] r.k = "create" -> ~row.is
    \* By the revision: the row is as it was read.
    [] OTHER -> r.fresh \/ B("blindDeal")
After(r) == LET row == rows[r.n] IN
  CASE r.k = "admit" -> [row EXCEPT !.hold[r.w] = row.lim]
    [] r.k = "forgo" -> [row EXCEPT !.left = @ \cup {r.w}]
    [] r.k = "release" -> [row EXCEPT !.hold[r.w] = 0, !.left = @ \cup {r.w}]
    [] r.k = "create" -> Dealt(r.m)
    [] OTHER -> [row EXCEPT !.lim = r.next.lim, !.hold = r.next.hold, !.left = r.next.left]
Wrong(r, y) ==
  LET came == {w \in Workers : y.hold[w] # 0 /\ rows[r.n].hold[w] = 0}
      went == {w \in Workers : y.hold[w] = 0 /\ rows[r.n].hold[w] # 0}
  IN (IF came # {} /\ Held(y) > (IF y.lim > r.n THEN 1 ELSE 0) THEN {"beyond"} ELSE {})
     \cup (IF came # {} /\ r.m # y.lim THEN {"other"} ELSE {})
     \cup (IF \E w \in went : p[w].pc = "in" THEN {"taken"} ELSE {})

-----------------------------------------------------------------------------
(* Workers and dispatchers. *)

Req(k, n, w) == [k |-> k, n |-> n, w |-> w, m |-> 0, fresh |-> TRUE, next |-> Blank, heard |-> TRUE]
Send(r, q) == /\ Cardinality(net) < MaxNet /\ net' = net \cup {r} /\ p' = [p EXCEPT ![r.w] = [q EXCEPT !.busy = TRUE, !.at = r.n]]
              /\ UNCHANGED <<rows, budget, deals, wrong>>
\* Of a worker that is through, nothing but that matters.
Through(pc) == [pc |-> pc, at |-> 0, busy |-> FALSE, m |-> 0, asked |-> {}]
Idle(w, pc) == ~p[w].busy /\ p[w].pc = pc
MayAsk(w, n, m) == Idle(w, "out") /\ n \notin p[w].asked /\ p[w].m \in {0, m} /\ rows[n].is
Asking(w, n, m) == [p[w] EXCEPT !.m = m, !.asked = @ \cup {n}]
Ask(w, n, m) == MayAsk(w, n, m) /\ Send([Req("admit", n, w) EXCEPT !.m = m], Asking(w, n, m))
\* In the place of a dead holder, by the row as it was read.
TakeOver(w, n, m) ==
  /\ MayAsk(w, n, m) /\ rows[n].lim = m
  /\ LET kept == [rows[n] EXCEPT !.hold = Kept(rows[n])]
     IN /\ kept # rows[n] /\ HasRoom(n, kept)
        /\ Send([Req("enter", n, w) EXCEPT !.m = m, !.next = [kept EXCEPT !.hold[w] = m]], Asking(w, n, m))
Forgo(w) == Idle(w, "refused") /\ IF B("noForgo") THEN /\ p' = [p EXCEPT ![w].pc = "out"] /\ UNCHANGED <<rows, net, budget, deals, wrong>>
                                  ELSE Send(Req("forgo", p[w].at, w), p[w])
Full(w) == Idle(w, "out") /\ p' = [p EXCEPT ![w] = Through("done")] /\ UNCHANGED <<rows, net, budget, deals, wrong>>
Release(w) == Idle(w, "in") /\ Send(Req("release", p[w].at, w), [p[w] EXCEPT !.pc = "going"])
Settle(w) == /\ Idle(w, "doubt")
             /\ LET row == rows[p[w].at]
                IN Send([Req("settle", p[w].at, w) EXCEPT !.next = [row EXCEPT !.hold[w] = 0, !.left = @ \cup {w}]], p[w])
Deal(n, limit) ==
  /\ deals > 0 /\ Cardinality(net) < MaxNet /\ (rows[n].is => rows[n].lim # limit)
  /\ net' = net \cup {[Req(IF rows[n].is THEN "deal" ELSE "create", n, 0)
                           EXCEPT !.m = limit, !.next = [rows[n] EXCEPT !.lim = limit], !.heard = FALSE]}
  /\ deals' = deals - 1 /\ UNCHANGED <<rows, p, budget, wrong>>

Told(q, r, ok, y) ==
  CASE r.k \in {"admit", "enter"} -> [q EXCEPT !.busy = FALSE, !.pc = IF y.hold[r.w] # 0 THEN "in" ELSE "refused"]
    \* A copy was faster: it has the permit.
    [] r.k = "forgo" -> IF y.hold[r.w] # 0 THEN [q EXCEPT !.busy = FALSE, !.pc = "in"]
                                           ELSE [q EXCEPT !.busy = FALSE, !.pc = "out", !.at = 0]
    [] r.k = "release" \/ ok -> Through("done")
    [] OTHER -> [q EXCEPT !.busy = FALSE, !.pc = "doubt"]

-----------------------------------------------------------------------------
(* The network, and faults. *)

Apply(r) == LET ok == Guard(r) IN
  /\ rows' = IF ok THEN [rows EXCEPT ![r.n] = After(r)] ELSE rows
  /\ wrong' = IF ok THEN wrong \cup Wrong(r, After(r)) ELSE wrong
\* What was calculated from the row as it was before.
Stale(r, others) == IF ~Guard(r) \/ B("blindDeal") THEN others
                    ELSE {IF o.n = r.n THEN [o EXCEPT !.fresh = FALSE, !.next = Blank] ELSE o : o \in others}
Arrive == \E r \in net : /\ Apply(r) /\ net' = Stale(r, net \ {r})
                         /\ p' = IF r.heard /\ p[r.w].pc # "dead" THEN [p EXCEPT ![r.w] = Told(@, r, Guard(r), rows'[r.n])] ELSE p
                         /\ UNCHANGED <<budget, deals>>
\* It is applied, or refused, and a copy of it stays under way.
Repeat == \E r \in net : /\ budget > 0 /\ Apply(r) /\ net' = Stale(r, (net \ {r}) \cup {[r EXCEPT !.heard = FALSE]}) /\ budget' = budget - 1
                         /\ p' = IF r.heard /\ p[r.w].pc # "dead" THEN [p EXCEPT ![r.w] = Told(@, r, Guard(r), rows'[r.n])] ELSE p
                         /\ UNCHANGED deals
GiveUp == \E r \in net : /\ budget > 0 /\ r.heard /\ p[r.w].pc # "dead" /\ net' = (net \ {r}) \cup {[r EXCEPT !.heard = FALSE]}
                         /\ p' = [p EXCEPT ![r.w].busy = FALSE, ![r.w].pc = "doubt"]
                         /\ budget' = budget - 1 /\ UNCHANGED <<rows, deals, wrong>>
Die(w) == /\ budget > 0 /\ p[w].pc # "dead" /\ p' = [p EXCEPT ![w] = Through("dead")]
          /\ budget' = budget - 1 /\ UNCHANGED <<rows, net, deals, wrong>>

Next == \/ Arrive \/ Repeat \/ GiveUp
        \/ \E n \in Rows, limit \in Limits : Deal(n, limit)
        \/ \E w \in Workers : Forgo(w) \/ Full(w) \/ Release(w) \/ Settle(w) \/ Die(w)
        \/ \E w \in Workers, n \in Rows, m \in Limits : Ask(w, n, m) \/ TakeOver(w, n, m)
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
Under == {rows[n].hold[w] : n \in Rows, w \in Workers}
\* Never more than the greatest limit under which one of them began: also in the middle of a change, and after it.
FLEET_Most == \E limit \in Under : Held(rows[0]) + Held(rows[1]) <= limit
FLEET_Share == "beyond" \notin wrong
FLEET_Agreed == "other" \notin wrong
I0_Told == \A w \in Workers : p[w].pc = "done" => \A n \in Rows : rows[n].hold[w] = 0
I11_Held == "taken" \notin wrong /\ \A w \in Workers : p[w].pc = "in" =>
              rows[p[w].at].hold[w] # 0 /\ \A n \in Rows \ {p[w].at} : rows[n].hold[w] = 0
=============================================================================
