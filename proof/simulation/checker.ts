/** Judges a history by all invariants, event by event, in one pass. */
import type { HistoryEvent } from './history.ts';
import { belief } from './invariants/belief.ts';
import { cleanup } from './invariants/cleanup.ts';
import { dispatching } from './invariants/dispatching.ts';
import { duplicates } from './invariants/duplicates.ts';
import { effects } from './invariants/effects.ts';
import { families } from './invariants/families.ts';
import { journal } from './invariants/journal.ts';
import { ledger } from './invariants/ledger.ts';
import { lines } from './invariants/lines.ts';
import { listed } from './invariants/listed.ts';
import { locks } from './invariants/locks.ts';
import { outcomes } from './invariants/outcomes.ts';
import { payloads } from './invariants/payloads.ts';
import { picking } from './invariants/picking.ts';
import { ratelimits } from './invariants/ratelimits.ts';
import { requests } from './invariants/requests.ts';
import { rows } from './invariants/rows.ts';
import type { Assumptions, Family, Nearest, Report, Violation } from './invariants/rule.ts';
import { isNearer } from './invariants/rule.ts';
import { schedules } from './invariants/schedules.ts';
import { semaphores } from './invariants/semaphores.ts';
import { sessions } from './invariants/sessions.ts';
import { tasks } from './invariants/tasks.ts';
import { tenants } from './invariants/tenants.ts';
import { told } from './invariants/told.ts';
import { tokens } from './invariants/tokens.ts';
import { waitgroups } from './invariants/waitgroups.ts';

const FAMILIES: readonly Family[] = [
  ...[outcomes, belief, tokens, sessions, locks, semaphores, waitgroups, ratelimits],
  ...[
    tasks,
    duplicates,
    told,
    payloads,
    tenants,
    families,
    lines,
    listed,
    dispatching,
    schedules,
    effects,
    journal,
    cleanup,
    picking,
    ledger,
    requests,
    rows,
  ],
];

/** A broken world would report without end. */
const VIOLATIONS_LIMIT = 20;

export class Checker {
  readonly #families;
  readonly #violations: Violation[] = [];
  readonly #unjudged: readonly string[];
  readonly #nearest = new Map<string, Nearest>();
  #now = 0;

  /** @param unjudged rules that this history does not have to keep */
  constructor(assumptions: Assumptions, unjudged: readonly string[] = []) {
    this.#unjudged = unjudged;
    const report: Report = (invariant, row, message) => this.report(invariant, row, message);
    this.#families = FAMILIES.map((family) =>
      family(assumptions, report, (invariant, amount, bound) => this.measure(invariant, amount, bound)),
    );
  }

  get violations(): readonly Violation[] {
    return this.#violations;
  }

  /** By rule with a bound: the amount that came nearest to it. */
  get nearest(): ReadonlyMap<string, Nearest> {
    return this.#nearest;
  }

  on(event: HistoryEvent): void {
    this.#now = event.at;
    if (event.kind === 'happened') return;
    if (event.kind === 'sent') for (const family of this.#families) family.onSent?.(event);
    else if (event.kind === 'read') for (const family of this.#families) family.onRead?.(event);
    else for (const family of this.#families) family.on(event);
  }

  end(): void {
    for (const family of this.#families) family.end?.();
  }

  measure(invariant: string, amount: number, bound: number): void {
    const measured = { amount, bound };
    if (!this.#unjudged.includes(invariant) && isNearer(measured, this.#nearest.get(invariant)))
      this.#nearest.set(invariant, measured);
  }

  /** Also for observations outside the stream: liveness, leaks. */
  report(invariant: string, row: string, message: string): void {
    if (this.#unjudged.includes(invariant)) return;
    const violation = { invariant, row, message, at: this.#now };
    const isNew = !this.#violations.some((known) => known.invariant === invariant && known.row === row);
    if (isNew && this.#violations.length < VIOLATIONS_LIMIT) this.#violations.push(violation);
  }
}

/** Judges a recorded history. */
export function judge(history: readonly HistoryEvent[], assumptions: Assumptions): readonly Violation[] {
  const checker = new Checker(assumptions);
  for (const event of history) checker.on(event);
  checker.end();
  return checker.violations;
}
