/**
 * The numeric constants of the product: each has a range in which every promise must hold, or a reason to have none.
 *
 * The world `knobs` draws from the ranges, and `turn.ts` sets the constants before a history begins. A range contains the shipped value.
 */

/** Least and most. */
export type Range = readonly [least: number, most: number];

/** A range of the number, or, for an object or list, of the factor by which all of its numbers change together. */
export type Knob = Range | { readonly by: Range };

/** Pauses that change together keep their relations. */
const SOONER = { by: [0.1, 1] } as const;
/** Up to a full page. */
const FEW = (most: number): Range => [1, most];

export const KNOBS: Readonly<Record<string, Readonly<Record<string, Knob>>>> = {
  'shared/client/run-with-schedules.ts': { POLL_MS: SOONER, RECUR_MS: SOONER },
  'shared/coordination/lock/lock-contender.ts': { ATTEMPT_ROUNDS_LIMIT: FEW(5), WRITE_BUDGET_MS: [500, 8_000] },
  'shared/coordination/lock/own-wait.ts': { OWN_WAIT_WARNING_MS: [50, 30_000] },
  'shared/coordination/lock/session-locks.ts': {
    PAUSES: SOONER,
    RELEASES_IN_FLIGHT: FEW(32),
    REMEMBERED_LIMIT: FEW(1_000),
  },
  'shared/coordination/lock/watch.ts': { POLL_MS: SOONER },
  'shared/coordination/ratelimit/rate-limiter.ts': { PAUSES: SOONER, SPREAD: SOONER, RESERVED_COST_MS: [1, 1_000] },
  'shared/coordination/semaphore/acquire.ts': { PAUSES: SOONER },
  'shared/coordination/semaphore/change.ts': { PARTS_IN_FLIGHT: FEW(10) },
  'shared/coordination/semaphore/fleet.ts': {
    CONSISTENT_PARTS: FEW(50),
    READ_UNITS: FEW(16),
    PARTS_PER_UNIT: FEW(4),
    LEAST_JUDGED: FEW(4),
  },
  'shared/coordination/semaphore/give-back.ts': { FOLD_FROM: FEW(8), FOLD_EACH: FEW(4) },
  'shared/coordination/semaphore/permit-book.ts': { TIDY_FROM: FEW(100) },
  'shared/coordination/semaphore/semaphore-contender.ts': { HEAD_POLL_MS: SOONER, TAIL_POLLS: FEW(30) },
  'shared/coordination/semaphore/semaphore.ts': { MARKS_LIMIT: FEW(64), WAITING_LIMIT: FEW(100) },
  'shared/coordination/waitgroup/group.ts': { PAGE_LIMIT: FEW(250) },
  'shared/coordination/waitgroup/wait-for-members.ts': { READ_LIMIT: FEW(25), STRIDE_LIMIT: FEW(250), PAUSES: SOONER },
  'shared/coordination/waitgroup/waitgroup.ts': { MEMBERS_PER_ADD: FEW(99) },
  'shared/core/permit-parts.ts': { PERMITS_PER_PART: FEW(10) },
  'shared/core/wait/retry-contended.ts': { BACKOFF: SOONER, CONTENTION_MS: [1_000, 20_000], MIN_ROUNDS: FEW(5) },
  'shared/core/wait/wait.ts': { SPREAD: SOONER },
  'shared/dynamo/engine/batches.ts': { BATCH_LIMIT: FEW(100) },
  'shared/dynamo/engine/directory.ts': {
    DIRECTORY_SHARDS: FEW(16),
    SHARD_PAGE_LIMIT: FEW(25),
    PAGE_LIMIT: FEW(100),
    MOST_AT_ONCE: FEW(1_000),
  },
  'shared/dynamo/engine/schema.ts': { DEAD_SHARDS: FEW(4) },
  'shared/dynamo/engine/statement.ts': { DIRECTORY_PAGE_LIMIT: FEW(100) },
  'shared/dynamo/engine/stored-json.ts': { DEFLATE_FROM_BYTES: [1, 700] },
  'shared/session/keep-alive.ts': { SETTLE_EVERY_MS: [100, 10_000] },
  'shared/session/row/session-statements.ts': { FORGET_LIMIT: FEW(100) },
  'shared/session/session-verdicts.ts': { RECHECK_MS: [50, 2_000] },
  'shared/tasks/dispatch/dispatcher.ts': {
    LEAST_CHECKED: FEW(100),
    PAGE_LIMIT: [2, 1_000],
    OLDEST_CHECKED: FEW(25),
  },
  'shared/tasks/dispatch/heard-tasks.ts': { MAX_ANNOUNCED_IDS: FEW(10_000) },
  'shared/tasks/dispatch/measure.ts': { CONCURRENT_POLLS: FEW(16), FOREIGN_PAGE: FEW(50) },
  'shared/tasks/dispatch/oldest-ready.ts': { BATCH: FEW(100), KEYS_LIMIT: FEW(100) },
  'shared/tasks/dispatch/pending-starts.ts': {
    HEARD_KEPT: FEW(10),
    IDS_NOTED: FEW(2),
    HEARD_MS: [100, 6_000],
    FEW_WITHIN_MS: [100, 6_000],
  },
  'shared/tasks/dispatch/planning.ts': { SAMPLED: FEW(25) },
  'shared/tasks/dispatch/recur.ts': { SCHEDULES_IN_FLIGHT: FEW(64) },
  'shared/tasks/dispatch/wake.ts': {
    ROWS_AT_A_TIME: FEW(25),
    NOTE_ATTEMPTS: FEW(5),
    NOTED_FOR: FEW(10),
  },
  'shared/tasks/picker/tuning.ts': {
    PAGE_ENTRIES: [2, 50],
    FRESH_MS: [1, 400],
    START_MS: [100, 20_000],
    MIN_POLL_GAP_MS: [5, 40],
    ROUNDS_PER_FIND: FEW(16),
    HELD_RECHECK_MS: [50, 2_000],
    IDLE_AFTER_MS: [500, 60_000],
    LONGEST_BACKOFF_MS: [100, 30_000],
    BARREN_PAGES: FEW(4),
    CLAIMS_PER_LOSS: FEW(8),
    AFTER_FIRST_FIND: FEW(4),
    PLAIN_PER_GROUP: FEW(2),
    UNUSED_EVERY_MS: [1_000, 90_000],
  },
  'shared/tasks/picker/waits.ts': { LOOK_ENTRIES: FEW(25) },
  'shared/tasks/queue/cancel-selection.ts': { CANCELS_IN_FLIGHT: FEW(32) },
  'shared/tasks/queue/listing.ts': { PAGE_LIMIT: FEW(100) },
  'shared/tasks/queue/results.ts': { PAUSE_MS: SOONER, TOGETHER_MS: FEW(50) },
  'shared/tasks/queue/task-client.ts': { DEFAULT_ENQUEUES_IN_FLIGHT: FEW(32) },
  'shared/tasks/rows/occurrence-maker.ts': { EARLIER_READ: FEW(100) },
  'shared/tasks/run/block-watch.ts': { SHORTEST_MS: [10, 50], LATELY_MS: [1_000, 600_000] },
  'shared/tasks/run/claim-writer.ts': { RESEND_MS: [10, 1_000] },
  'shared/tasks/run/each.ts': { DEFAULT_FLUSH_MS: [10, 500] },
  'shared/tasks/run/settle.ts': { OUTAGE_PAUSE_MS: SOONER, MAX_HAND_BACKS: [3, 5] },
  'shared/tasks/schedule/schedule.ts': {
    OCCURRENCES_PER_TICK: FEW(100),
    SCHEDULES_PER_TICK: FEW(1_000),
    LEFT_OUT_KEPT: FEW(8),
  },
  'shared/tasks/task/queue-store.ts': { COMES_AGAIN_MS: [100, 10_000] },
  'shared/tasks/task/task.ts': { PAST_ATTEMPTS_KEPT: [1, 4] },
  // A visit to a tenant ends with the page if the page is smaller than the tenant's share and the tasks of it that are held.
  'shared/tasks/task/group-walk.ts': { QUANTUM: FEW(4), PAGE_LIMIT: [16, 50] },
  'shared/tasks/worker/announced-names.ts': { NAMES_LIMIT: FEW(100), BYTES_LIMIT: [50, 2_048], BUDGET_MS: [50, 1_000] },
  'shared/tasks/worker/attempt-limits.ts': { FAILING_LONG_MS: [1_000, 600_000], MOST_OF_LIFE: [0.1, 0.9] },
  'shared/tasks/worker/decided-claim.ts': { RESEND_MS: [10, 1_000] },
  'shared/tasks/worker/planning-hints.ts': {
    MEMORY: SOONER,
    CHANGED: [0.01, 0.2],
    NEGLIGIBLE_MS: [1, 5],
    EVERY_MS: [500, 60_000],
    FIRST_MS: [50, 10_000],
    GATHERED_MS: [1, 250],
    BUDGET_MS: [50, 1_000],
    NAMES_KEPT: FEW(20),
  },
  'shared/tasks/worker/queue-state.ts': { FRESH_MS: [50, 5_000], HEARING_MS: [20, 5_000] },
  'shared/tasks/worker/solo-gate.ts': { FIRST_WAIT_MS: [50, 2_000], BETWEEN_WAITS: FEW(4) },
  'shared/tasks/worker/unknown-names.ts': { NAMES_SAID: FEW(20) },
  'shared/tasks/worker/stay.ts': { STAY_MS: [50, 1_900], STAYING_POLL_MS: SOONER },
  'shared/tasks/worker/run-worker.ts': { STALLED_HAND_BACKS: FEW(2), CLOSED_MS: [50, 1_000] },
};

interface Fixed {
  readonly why: string;
  /** Names by file, separated by spaces. A folder, with a slash at its end, means all of its constants. */
  readonly of: Readonly<Record<string, string>>;
}

/** Constants without a range. */
export const FIXED: readonly Fixed[] = [
  {
    why: 'a bound of time on which safety rests: clocks, margins, or how late a request may arrive',
    of: {
      'shared/core/lease/timing.ts': 'MAX_LOCK_DELAY_MS MAX_TTL_MS MIN_TTL_MS MAX_HOLDER_MARGIN_MS',
      'shared/dynamo/engine/schema.ts': 'RETENTION_DAYS',
      'shared/dynamo/engine/skew-gauge.ts': 'KEPT_MS DISAGREEMENT_MS',
      'shared/tasks/queue/key-report.ts': 'SETTLE_MS',
      'shared/tasks/schedule/schedule.ts': 'HORIZON_MS',
      'shared/tasks/dispatch/heard-tasks.ts': 'INDEX_LAG_MS KEPT_MS',
    },
  },
  {
    why:
      'must exceed what may happen in between: revocations during one acquire, an outage, entries at the head that others hold, ' +
      'a heartbeat',
    of: {
      'shared/session/keep-alive.ts': 'MAX_PENDING_REVOCATIONS',
      'shared/tasks/run/settle.ts': 'OUTAGE_LIMIT_MS',
      'shared/dynamo/engine/batches.ts': 'ROUNDS_LIMIT',
      'shared/tasks/dispatch/measure.ts': 'PAGES_LIMIT',
      'shared/tasks/dispatch/oldest-ready.ts': 'READ_LIMIT OLDEST',
      'shared/tasks/queue/cancel-selection.ts': 'ROUNDS',
      'shared/tasks/task/group-walk.ts': 'PAGES_LIMIT',
    },
  },
  {
    why: 'only a fault of the caller, of a role or of the library meets it',
    of: {
      'shared/core/wait/wait.ts': 'MAX_POLLS_AT_ONE_TIME',
      'shared/tasks/run/run-claim.ts': 'NOT_PERMITTED_PAUSE_MS',
    },
  },
  {
    why: 'a part of the TTL that the heartbeat and its margin leave',
    of: { 'shared/tasks/run/block-watch.ts': 'BEARABLE' },
  },
  {
    why: 'a limit, status, unit or format of DynamoDB, AWS, the platform or a standard',
    of: {
      'functions/worker-invoker.ts': 'ACCEPTED',
      'shared/coordination/lock/several-locks.ts': 'KEYS_LIMIT',
      'shared/coordination/ratelimit/rate-limiter.ts': 'LONGEST_RESERVATION_MS',
      'shared/core/listen.ts': 'BACKLOG',
      'shared/core/permit-parts.ts': 'TOKENS_PER_PART',
      'shared/core/runtime/bytes.ts': 'CHUNK_BYTES',
      'shared/core/runtime/clock.ts': 'LONGEST_TIMER_MS',
      'shared/core/runtime/sha256.ts': 'BLOCK_BYTES TAIL_BYTES',
      'shared/core/validate/duration.ts': 'UNITS_MS',
      'shared/core/validate/moment.ts': 'MAX_EPOCH_MS MIN_EPOCH_MS',
      'shared/dynamo/engine/capacity.ts': 'WRITE_UNIT_BYTES READ_UNIT_BYTES TRANSACTION_FACTOR LONG_TEXT',
      'shared/dynamo/engine/schema.ts': 'PARTITION_KEY_LIMIT_BYTES SORT_KEY_LIMIT_BYTES',
      'shared/dynamo/engine/stored-json.ts': 'INFLATED_LIMIT_BYTES',
      'shared/dynamo/engine/statement.ts': 'CONSTANTS',
      'shared/dynamo/engine/transaction.ts': 'TOKEN_CHARACTERS TRANSACTION_ACTIONS_LIMIT',
      'shared/tasks/dispatch/measure.ts': 'MINUTE_MS ROUND',
      'shared/tasks/run/run-context.ts': 'BATCH_ACTIONS',
      'shared/tasks/schedule/cron-fields.ts': 'FIELDS',
      'shared/tasks/schedule/cron.ts': 'SECOND_MS DAY_MS BETWEEN_CHANGES_MS',
      'shared/tasks/schedule/schedule-definition.ts': 'DAY_MS',
      'shared/tasks/schedule/zone.ts': 'DAY_MS SECOND_MS LONGEST_REPEAT_MS',
      'shared/tasks/task/batch.ts': 'NEVER CHILDREN_LIMIT',
      'shared/tasks/task/payload.ts': 'PAYLOAD_ROW_LIMIT_BYTES',
      'shared/tasks/task/user-writes.ts': 'TASK_ACTIONS',
      'shared/tasks/rows/task/lines.ts': 'REMEMBERED',
      'shared/dynamo/engine/group-commit.ts': 'BYTES_LIMIT',
      'shared/tasks/task/spawning.ts': 'TRANSACTION_ACTIONS_LIMIT',
      'shared/tasks/tracing/open-telemetry.ts': 'KINDS STATUS_ERROR',
    },
  },
  {
    why: 'digits and layout of stored rows, which all versions read, and initial states',
    of: {
      'shared/coordination/lock/lock-client.ts': 'NOT_HELD',
      'shared/coordination/lock/row/lock-expressions.ts': 'NEVER_GIVEN',
      'shared/core/lease/sequencer.ts': 'DIGEST_CHARACTERS',
      'shared/core/runtime/ids.ts': 'PLACES',
      'shared/dynamo/engine/schema.ts': 'SCHEMA_VERSION',
      'shared/tasks/dispatch/pending-starts.ts': 'NONE',
      'shared/tasks/rows/key-statements.ts': 'CENTURY_SECONDS',
      'shared/tasks/rows/task/dynamo-task-operator-store.ts': 'ISO_LENGTH',
      'shared/tasks/rows/task/ended-entries.ts': 'CUT_BYTES ISO_LENGTH',
      'shared/tasks/queue/ended-tasks.ts': 'LATEST',
      'shared/tasks/rows/task/index-places.ts': 'MOMENT_DIGITS',
      'shared/tasks/task/created-by.ts': 'DIGITS',
      'shared/tasks/task/key-limit.ts': 'IDLE_KEY',
      'shared/tasks/task/slice.ts': 'HASH_DIGITS',
      'shared/tasks/task/group-walk.ts': 'HASH_DIGITS HASHES',
    },
  },
  {
    why: 'the default of a setting, which each world states itself',
    of: {
      'shared/client/create-worker.ts': 'DEFAULT_GRACE_MS',
      'shared/client/edge/edge-connection.ts': 'DEFAULT_IN_FLIGHT',
      'shared/core/lease/timing.ts': 'DEFAULT_TTL_MS DEFAULT_LOCK_DELAY_MS DEFAULT_MAX_CLOCK_SKEW_MS',
      'shared/dynamo/engine/send.ts': 'DEFAULT_SEND_POLICY',
      'shared/tasks/schedule/schedule-definition.ts': 'DEFAULT_TOLERANCE_MS',
      'shared/tasks/task/definition.ts': 'DEFAULT_RETRY DEFAULT_RETRY_IN_LINE',
      'shared/tasks/task/task.ts': 'DEFAULT_SHARDS DEFAULT_CONCURRENCY',
      'functions/env.ts':
        'NUMBERS DEFAULT_MAX_WORKERS DEFAULT_START_WITHIN_MS DEFAULT_DEADLINE_MARGIN_MS DEFAULT_LINGER_MS ' +
        'DEFAULT_WORKER_LOCK_DELAY_MS',
      'functions/middleware/held-right.ts': 'DEFAULT_DEADLINE_MARGIN_MS',
    },
  },
  {
    why: 'the edge refuses input beyond it, which `test/docs/limits.test.ts` compares with the documents: it changes nothing else',
    of: {
      'functions/env.ts': 'MAX_WORKERS_LIMIT MAX_START_WITHIN_MS LONGEST_INVOCATION_MS TIMED_NAMES_LIMIT_CHARACTERS',
      'shared/coordination/lock/lock-record.ts': 'VALUE_LIMIT_BYTES',
      'shared/coordination/semaphore/semaphore.ts': 'HOLDERS_LIMIT',
      'shared/core/validate/options.ts': 'NAME_LIMIT_BYTES',
      'shared/tasks/queue/batch-request.ts': 'BATCH_LIMIT',
      'shared/tasks/run/each.ts': 'ITEMS_LIMIT',
      'shared/tasks/task/queue-store.ts': 'MAX_PAUSED_TENANTS',
      'shared/tasks/schedule/cron-fields.ts': 'CRON_LIMIT_CHARACTERS ZONE_LIMIT_CHARACTERS',
      'shared/tasks/schedule/schedule.ts': 'SCHEDULE_OPTIONS_LIMIT_CHARACTERS',
      'shared/tasks/task/bounds.ts': 'MAX_ATTEMPTS_LIMIT',
      'shared/tasks/task/key-limit.ts': 'KEY_LIMIT_MAX',
      'shared/core/json.ts': 'JSON_DEPTH_LIMIT',
      'shared/tasks/task/payload.ts': 'PAYLOAD_LIMIT_BYTES REFERENCE_LIMIT_CHARACTERS',
      'shared/tasks/task/task-request.ts': 'MIN_RATE_WINDOW_MS LABEL_LIMIT_BYTES TRACEPARENT_LIMIT_CHARACTERS',
      'shared/tasks/task/task.ts':
        'MAX_SHARDS MAX_CONCURRENCY INPUT_LIMIT_BYTES RESULT_LIMIT_BYTES PROGRESS_LIMIT_BYTES REASON_LIMIT_CHARACTERS',
    },
  },
  {
    why: 'the length of a text or a list for people',
    of: {
      'shared/client/log-text.ts': 'FIELD_LIMIT_CHARACTERS',
      'shared/core/errors.ts': 'MESSAGE_LIMIT_CHARACTERS MESSAGE_END_CHARACTERS SHOWN_CHARACTERS CAUSES_LIMIT',
      'shared/tasks/queue/ended-numbers.ts': 'NUMBERS_LIMIT',
      'shared/tasks/schedule/cron.ts': 'CHECKED_AT_MOST',
      'shared/tasks/queue/fault.ts': 'FAULT_LIMIT_CHARACTERS',
      'shared/tasks/rows/failure-statements.ts': 'ROW_LIMIT_BYTES',
      'shared/tasks/rows/task/attributes.ts': 'SPAWNED_SHOWN',
      'shared/tasks/run/side-writes.ts': 'STACK_LIMIT_CHARACTERS',
      'shared/tasks/run/thrown.ts': 'DEPTH NAME_LIMIT_CHARACTERS TEXT_LIMIT_CHARACTERS',
      'shared/tasks/schedule/make-occurrence.ts': 'REASON_CHARACTERS',
      'shared/tasks/task/task.ts': 'ERROR_MESSAGE_LIMIT_CHARACTERS PAST_ERROR_LIMIT_CHARACTERS',
    },
  },
  {
    why: 'arithmetic that the checker shares: tolerances of rounding, and weights of the rule for wanted workers',
    of: {
      'shared/coordination/ratelimit/bucket.ts': 'LONGEST_FILL_MS RATE_TOLERANCE PRODUCT_NOISE_US',
      'shared/tasks/dispatch/demand.ts': 'STILL_CUT_SHORT',
      'shared/tasks/dispatch/pending-starts.ts': 'SHOWS_WITHIN_MS SHOWS_AT_LAST_MS',
      'shared/tasks/dispatch/plan.ts': 'URGENCY ROUNDING LEAST_TOOK_MS LONG_SHARE',
    },
  },
  {
    why: 'sockets, credentials, streams and objects in S3: the simulated network takes their place',
    of: {
      'shared/dynamo/wire/': '*',
      'shared/dynamo/engine/send.ts': 'CONNECTION_MS',
      'shared/dynamo/gathering-sender.ts': 'UNDER_WAY_LIMIT PATIENCE_MS',
      'shared/dynamo/table-stream.ts': 'EVERY_MS BURST_MS RETRY_MS REQUEST_TIMEOUT_MS',
      'shared/tasks/s3/payloads.ts': 'TIMEOUTS DELETE_TIMEOUT_MS',
    },
  },
  {
    why: 'Lambda’s envelope, metrics, listings and repairs for operators, and loops around whole sessions, which have tests of their own',
    of: {
      'functions/continuation.ts': 'START MAX_GENERATION',
      'functions/task-times.ts': 'VALUES_IN_LINE',
      'functions/throttle-log.ts': 'INTERVAL_MS',
      'functions/work.ts': 'MAX_NAMED POLL_MS GRACE_SHARE',
      'functions/worker-invoker.ts': 'STARTS_AT_A_TIME BACKOFF',
      'functions/worker-metrics.ts': 'INTERVAL_MS NEW_FOR_MS',
      'functions/workforce.ts': 'START',
      'shared/client/run-until-stopped.ts': 'RESTART_MS RETRY_SOON_MS LAST_WRITES_MS',
      'shared/operate/audit/audit-store.ts': 'MONTHS_LISTED PAGE_LIMIT',
      'shared/tasks/task/listed-queues.ts': 'KNOWN_MS',
      'shared/session/session-client.ts': 'POLL_MS',
    },
  },
  {
    why: 'journals of durable tasks: scenes of their own kill them at each request',
    of: {
      'shared/tasks/durable/': '*',
      'shared/tasks/rows/task/arrival-store.ts': 'JOURNAL_TEXT_LIMIT_BYTES',
      'shared/tasks/rows/task/dynamo-journal-store.ts': 'EXPIRE_AT_MOST EXPIRE_IN_FLIGHT',
      'shared/tasks/worker/stay.ts': 'SHORT_WAIT_MS TIMER_ERROR_MS',
    },
  },
  { why: 'prices and estimates: requests do not depend on them', of: { 'shared/operate/cost/': '*' } },
  { why: 'the doubles have the limits of what they stand for', of: { 'shared/testing/': '*' } },
  { why: 'only CloudFormation reads it', of: { 'infra/': '*' } },
];
