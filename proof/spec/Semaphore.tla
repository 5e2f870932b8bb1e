----------------------------- MODULE Semaphore -----------------------------
(***************************************************************************)
(* One semaphore and those who contend for its permits: admit (a blind     *)
(* write, when there is room and no queue), queue for a place, enter (the  *)
(* head of the queue, or a contender that removes the dead, writes the row *)
(* as it calculated it, if no write came between), leave the queue,        *)
(* release, forgo before a caller hears that there is no room, settle what *)
(* was not answered, and another limit. Late and repeated requests, lost   *)
(* answers, deaths.                                                        *)
(*                                                                         *)
(* `left` are the claims whose blind requests are barred. The code has     *)
(* them as marks and a floor, which may bar more: that only refuses.       *)
(*                                                                         *)
(* With Force, sessions are ended and permits evicted by force, and a      *)
(* heartbeat may be refused from some moment on, as of a throttled row:    *)
(* then its holder hears nothing, and believes until its session would     *)
(* have expired. Every instant is its distance from now, as in Holder.tla, *)
(* which is about clocks that differ. Left out: permits larger than one,   *)
(* the lapse of tickets, and contenders that disagree about the limit.     *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC
CONSTANTS
  Workers, Limit, Faults, MaxNet, Broken,
  TTL, Delay,    \* a session's length and its lock-delay, in ticks; a heartbeat is due each tick
  Force          \* whether sessions are throttled and ended by force, and permits evicted
VARIABLES row, net, p, ses, budget, wrong
vars == <<row, net, p, ses, budget, wrong>>
B(what) == what \in Broken
Sym == Permutations(Workers)

NoTokens == [w \in Workers |-> 0]
None == [w \in Workers |-> FALSE]
Blank == [limit |-> 0, hold |-> NoTokens, shut |-> NoTokens, wait |-> <<>>, ctr |-> 0, left |-> None]
\* hold is the token of each permit, 0 is none; shut is 0, or of an evicted permit one more than the ticks until its capacity opens;
\* rev counts the writes; n is the nonce of the last.
\* Of a session: exp, the ticks until it expires, and until its holder stops; open, of one that is over, the ticks until others may take
\* what it held; mute, whether its heartbeats are refused.
Init == /\ row = [limit |-> Limit, free |-> Limit, hold |-> NoTokens, shut |-> NoTokens, wait |-> <<>>, ctr |-> 0, left |-> None,
                rev |-> 0, n |-> <<"-", 0>>]
        /\ net = {} /\ p = [w \in Workers |-> [pc |-> "out", tok |-> 0, busy |-> FALSE, asked |-> FALSE]]
        /\ ses = [w \in Workers |-> [live |-> TRUE, exp |-> TTL, open |-> 0, mute |-> FALSE]] /\ budget = Faults /\ wrong = {}

Held(r) == Cardinality({w \in Workers : r.hold[w] # 0})
Queued(r, w) == \E i \in 1..Len(r.wait) : r.wait[i] = w
Without(line, w) == SelectSeq(line, LAMBDA v : v # w)
Greater(i, j) == IF i > j THEN i ELSE j
Older(i) == Greater(i - 1, 0)
\* How long something stays closed that is taken from w by force.
Closed(w) == Greater(Delay, ses[w].exp)
IsDead(w) == ~ses[w].live /\ (ses[w].open = 0 \/ B("prunesClosed"))
\* The row without the permits and the tickets of the dead, and without evicted permits that have opened.
IsKept(r, w) == ~IsDead(w) /\ r.shut[w] # 1
Pruned(r) == [limit |-> r.limit, hold |-> [w \in Workers |-> IF IsKept(r, w) THEN r.hold[w] ELSE 0],
              shut |-> [w \in Workers |-> IF IsKept(r, w) THEN r.shut[w] ELSE 0],
              wait |-> SelectSeq(r.wait, LAMBDA v : ~IsDead(v)), ctr |-> r.ctr, left |-> r.left]
MayEnter(r, w) == (IF r.wait = <<>> THEN TRUE ELSE Head(r.wait) = w) /\ Held(r) < r.limit

-----------------------------------------------------------------------------
(* The store. *)

Guard(r) ==
  CASE r.k = "admit" -> (row.free >= 1 \/ B("noRoom")) /\ (row.wait = <<>> \/ B("jumps")) /\ row.hold[r.w] = 0
                        /\ (~row.left[r.w] \/ B("noBar"))
    [] r.k = "queue" -> ~Queued(row, r.w) /\ row.hold[r.w] = 0 /\ (~row.left[r.w] \/ B("noBar"))
    [] r.k = "forgo" -> ~row.left[r.w]
    [] r.k = "release" -> (row.hold[r.w] = r.tok /\ r.tok # 0) \/ B("releasesTwice")
    \* With the session as it was read: a later renewal would let its holder believe for longer, and not tell it.
    [] r.k = "evict" -> row.hold[r.w] = r.tok /\ row.shut[r.w] = 0
                        /\ (B("evictsUnseen") \/ (ses[r.w].live = r.live /\ ses[r.w].exp = r.exp))
    [] OTHER -> B("blind") \/ (IF B("byNonce") THEN row.n = r.on ELSE row.rev = r.rev)
Effect(r) ==
  CASE r.k = "admit" -> [row EXCEPT !.hold[r.w] = row.ctr + 1, !.ctr = @ + 1, !.free = @ - 1]
    [] r.k = "queue" -> [row EXCEPT !.wait = Append(@, r.w)]
    [] r.k = "release" -> [row EXCEPT !.hold[r.w] = 0, !.shut[r.w] = 0, !.free = @ + 1, !.left[r.w] = ~B("noMark")]
    [] r.k = "forgo" -> [row EXCEPT !.left[r.w] = ~B("noForgo")]
    [] r.k = "evict" -> [row EXCEPT !.shut[r.w] = r.shut + 1]
    [] OTHER -> [row EXCEPT !.limit = r.next.limit, !.hold = r.next.hold, !.shut = r.next.shut, !.wait = r.next.wait, !.ctr = r.next.ctr,
                            !.left = r.next.left, !.free = r.next.limit - Held(r.next)]
After(r) == [Effect(r) EXCEPT !.rev = row.rev + 1, !.n = <<r.k, r.w, r.rev>>]

\* What a write does that none may: admit beyond the limit, out of turn or with an old token; take a permit from one that
\* believes in it, or from a living one that was not evicted; or take what is still closed.
Wrong(r, y) ==
  LET came == {w \in Workers : y.hold[w] # 0 /\ y.hold[w] # row.hold[w]}
      went == {w \in Workers : row.hold[w] # 0 /\ y.hold[w] # row.hold[w] /\ ~(r.k \in {"release", "leave"} /\ r.w = w)}
  IN (IF came # {} /\ y.free < 0 THEN {"beyond"} ELSE {})
     \cup (IF \E w \in came : y.hold[w] <= row.ctr THEN {"token"} ELSE {})
     \cup (IF \E w \in came : ses[w].live /\ Pruned(row).wait # <<>> /\ Head(Pruned(row).wait) # w THEN {"turn"} ELSE {})
     \cup (IF \E w \in went : p[w].pc = "in" \/ (ses[w].live /\ row.shut[w] = 0) THEN {"taken"} ELSE {})
     \cup (IF \E w \in went : IF row.shut[w] = 0 THEN ses[w].open > 0 ELSE row.shut[w] > 1 /\ (ses[w].live \/ ses[w].open > 0)
           THEN {"early"} ELSE {})

-----------------------------------------------------------------------------
(* Contenders. *)

\* "out" asks; "in" believes that it holds; "going" has sent a release, or that it gives up; "doubt" has no answer to that, or is
\* refused, or knows that it was evicted; "done" was told that it holds nothing. `asked`: for a place in the queue.
Told(q, r, ok, y) ==
  CASE r.k = "release" -> [q EXCEPT !.pc = "done", !.tok = 0, !.busy = FALSE]
    \* Also by an attempt that was not answered: no other contender asks by this claim.
    [] r.k \in {"admit", "enter", "forgo"} /\ y.hold[r.w] # 0 /\ y.shut[r.w] = 0 ->
         [q EXCEPT !.pc = "in", !.tok = y.hold[r.w], !.busy = FALSE]
    [] r.k \in {"forgo", "leave"} -> [q EXCEPT !.pc = IF ok THEN "done" ELSE "doubt", !.tok = 0, !.busy = FALSE]
    [] OTHER -> [q EXCEPT !.busy = FALSE]
Req(k, w) == [k |-> k, w |-> w, rev |-> row.rev, on |-> row.n, next |-> Blank, tok |-> 0, heard |-> TRUE,
              live |-> FALSE, exp |-> 0, shut |-> 0]
Send(w, r, pc) == /\ Cardinality(net) < MaxNet /\ net' = net \cup {r}
                  /\ p' = [p EXCEPT ![w].busy = TRUE, ![w].pc = pc] /\ UNCHANGED <<row, ses, budget, wrong>>
Idle(w, pc) == ~p[w].busy /\ p[w].pc = pc
Admit(w) == Idle(w, "out") /\ row.hold[w] = 0 /\ Send(w, Req("admit", w), "out")
Queue(w) == /\ Idle(w, "out") /\ row.hold[w] = 0 /\ ~Queued(row, w) /\ ~MayEnter(Pruned(row), w)
            /\ Cardinality(net) < MaxNet /\ net' = net \cup {Req("queue", w)}
            /\ p' = [p EXCEPT ![w].busy = TRUE, ![w].asked = TRUE] /\ UNCHANGED <<row, ses, budget, wrong>>
Enter(w) == /\ Idle(w, "out") /\ row.hold[w] = 0 /\ MayEnter(Pruned(row), w)
            /\ LET seen == Pruned(row)
                   next == [seen EXCEPT !.hold[w] = seen.ctr + 1, !.ctr = @ + 1, !.wait = Without(@, w)]
               IN Send(w, [Req("enter", w) EXCEPT !.next = next], "out")
Look(w) == /\ Idle(w, "out") /\ row.hold[w] # 0
           /\ p' = [p EXCEPT ![w].pc = IF row.shut[w] = 0 THEN "in" ELSE "doubt", ![w].tok = IF row.shut[w] = 0 THEN row.hold[w] ELSE 0]
           /\ UNCHANGED <<row, net, ses, budget, wrong>>
\* From here on it does not believe.
Release(w) == Idle(w, "in") /\ Send(w, [Req("release", w) EXCEPT !.tok = p[w].tok], "going")
\* Before its caller is told that there is no room.
Forgo(w) == Idle(w, "out") /\ row.hold[w] = 0 /\ ~p[w].asked /\ Send(w, Req("forgo", w), "going")
\* It leaves the queue; or it settles what it has in doubt, with what a late attempt may have brought.
Leave(w) == /\ (Idle(w, "out") /\ row.hold[w] = 0 /\ p[w].asked) \/ Idle(w, "doubt")
            /\ LET next == [limit |-> row.limit, hold |-> [row.hold EXCEPT ![w] = 0], shut |-> [row.shut EXCEPT ![w] = 0],
                            wait |-> Without(row.wait, w), ctr |-> row.ctr, left |-> [row.left EXCEPT ![w] = TRUE]]
               IN Send(w, [Req("leave", w) EXCEPT !.next = next], "going")
\* An operator.
Lower == /\ budget > 0 /\ row.limit = Limit /\ Cardinality(net) < MaxNet
         /\ \E w \in Workers : net' = net \cup {[Req("limit", w) EXCEPT !.heard = FALSE,
              !.next = [limit |-> Limit - 1, hold |-> row.hold, shut |-> row.shut, wait |-> row.wait, ctr |-> row.ctr,
                        left |-> row.left]]}
         /\ budget' = budget - 1 /\ UNCHANGED <<row, p, ses, wrong>>
\* Others, too: from a reading of the row and of the holder's session.
Evict(w) == /\ Force /\ budget > 0 /\ row.hold[w] # 0 /\ row.shut[w] = 0 /\ Cardinality(net) < MaxNet
            /\ net' = net \cup {[Req("evict", w) EXCEPT !.heard = FALSE, !.tok = row.hold[w], !.live = ses[w].live, !.exp = ses[w].exp,
                                                         !.shut = IF B("evictsEarly") THEN Delay ELSE Closed(w)]}
            /\ budget' = budget - 1 /\ UNCHANGED <<row, p, ses, wrong>>
Destroy(w) == /\ Force /\ budget > 0 /\ ses[w].live
              /\ ses' = [ses EXCEPT ![w].live = FALSE, ![w].open = IF B("forcedEarly") THEN Delay ELSE Closed(w)]
              /\ budget' = budget - 1 /\ UNCHANGED <<row, net, p, wrong>>
\* Contenders end it when it has expired, and count the delay from then.
Expire(w) == /\ ses[w].live /\ ses[w].exp = 0 /\ ses' = [ses EXCEPT ![w].live = FALSE, ![w].open = Delay]
             /\ UNCHANGED <<row, net, p, budget, wrong>>

-----------------------------------------------------------------------------
(* The network, and faults. *)

Apply(m) == LET ok == Guard(m) IN
  /\ row' = IF ok THEN After(m) ELSE row
  /\ wrong' = IF ok THEN wrong \cup Wrong(m, After(m)) ELSE wrong
Arrive == \E m \in net : /\ Apply(m) /\ net' = net \ {m}
                         /\ p' = IF m.heard /\ p[m.w].pc # "dead" THEN [p EXCEPT ![m.w] = Told(@, m, Guard(m), row')] ELSE p
                         /\ UNCHANGED <<ses, budget>>
\* It is applied, and its answer is lost; a copy of it stays under way.
Repeat == \E m \in net : /\ budget > 0 /\ Guard(m) /\ Apply(m) /\ budget' = budget - 1 /\ UNCHANGED <<net, p, ses>>
GiveUp == \E m \in net : /\ budget > 0 /\ m.heard /\ p[m.w].pc # "dead" /\ net' = (net \ {m}) \cup {[m EXCEPT !.heard = FALSE]}
                         /\ p' = [p EXCEPT ![m.w].busy = FALSE, ![m.w].pc = IF @ = "going" THEN "doubt" ELSE @]
                         /\ budget' = budget - 1 /\ UNCHANGED <<row, ses, wrong>>
\* It dies, and its session has expired.
Die(w) == /\ ses[w].live /\ budget > 0 /\ ses' = [ses EXCEPT ![w] = [live |-> FALSE, exp |-> 0, open |-> Delay, mute |-> TRUE]]
          /\ p' = [p EXCEPT ![w].pc = "dead", ![w].tok = 0] /\ budget' = budget - 1 /\ UNCHANGED <<row, net, wrong>>
Mute(w) == /\ Force /\ budget > 0 /\ ~ses[w].mute /\ ses' = [ses EXCEPT ![w].mute = TRUE]
           /\ budget' = budget - 1 /\ UNCHANGED <<row, net, p, wrong>>
\* A heartbeat that is accepted tells of an eviction; one that is refused, of the end. A holder whose time is over stops.
Beats(w) == ses[w].live /\ ~ses[w].mute /\ ses[w].exp > 0
Aged(w) == [ses[w] EXCEPT !.exp = IF Beats(w) THEN TTL ELSE Older(@), !.open = Older(@)]
AfterBeat(w) == IF Aged(w).exp = 0 \/ (~ses[w].live /\ ~ses[w].mute) THEN [p[w] EXCEPT !.pc = "dead", !.tok = 0]
                ELSE IF Beats(w) /\ p[w].pc = "in" /\ row.shut[w] # 0 THEN [p[w] EXCEPT !.pc = "doubt", !.tok = 0] ELSE p[w]
ShutLess(shut) == [w \in Workers |-> IF shut[w] > 1 THEN shut[w] - 1 ELSE shut[w]]
Tick == /\ ses' = [w \in Workers |-> Aged(w)] /\ p' = [w \in Workers |-> AfterBeat(w)]
        /\ row' = [row EXCEPT !.shut = ShutLess(@)]
        /\ net' = {[m EXCEPT !.exp = Older(@), !.shut = Older(@), !.next.shut = ShutLess(@)] : m \in net}
        /\ UNCHANGED <<budget, wrong>>

Next == \/ Arrive \/ Repeat \/ GiveUp \/ Lower \/ Tick
        \/ \E w \in Workers : Evict(w) \/ Destroy(w) \/ Expire(w) \/ Mute(w)
        \/ \E w \in Workers : Admit(w) \/ Queue(w) \/ Enter(w) \/ Look(w) \/ Release(w) \/ Forgo(w) \/ Leave(w) \/ Die(w)
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* An evicted permit, which nobody believes in, may be left to open by itself.
I0_Told == \A w \in Workers : p[w].pc = "done" => (row.hold[w] = 0 \/ row.shut[w] # 0) /\ ~Queued(row, w)
I3_Tokens == "token" \notin wrong
I11_Count == row.free = row.limit - Held(row)
I7_Delay == "early" \notin wrong
I11_Capacity == "beyond" \notin wrong
I11_Held == "taken" \notin wrong /\ \A w \in Workers : p[w].pc = "in" => row.hold[w] = p[w].tok /\ p[w].tok # 0
L5_Turn == "turn" \notin wrong
=============================================================================
