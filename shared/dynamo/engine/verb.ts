/** The names of all statements, by row: `row.intent`. The book of scenes does not compile without a scene of each that is sent. */

/** What is sent as a request, or as the first action of one. */
interface Sent {
  readonly session: 'create renew renewRemote expire invalidate get getMany page';
  readonly lock:
    | 'acquire takeOver acquireAll update release settle disown bar force put remove commit'
    | 'get getMany getWithSession page';
  readonly semaphore: 'create admit queue replace release forgo evict get parts page';
  readonly waitgroup: 'create add lease begin done lose seal complete get members';
  readonly ratelimit: 'take takeFromFull get';
  readonly task:
    | 'enqueue claim join takeOver markDead progress complete commit bar barNew retry discard giveUp release snooze'
    | 'wait suspend checkpoint spill arrive beat cancel requestCancel expire reschedule revive replace renew promote'
    | 'follow leaveLine get getMany page pageOfDead pageOfEnded pageOfGroups';
  readonly batch: 'create recount get';
  readonly key: 'recount get getMany';
  readonly line: 'pass get getMany';
  readonly queue: 'change listFinished noteUse noteHints announceNames noteStarts get glance';
  readonly schedule: 'put advance make due pause resume remove get getMany page';
  readonly tick: 'take';
  readonly payload: 'put get delete';
  readonly failure: 'keep get';
  readonly arrival: 'put page';
  readonly journal: 'put expire page';
  readonly audit: 'begin end page';
  readonly epoch: 'raise';
}

/** Statements that are only sent in the transaction of another statement. */
interface Accompanying {
  readonly session: 'revoke';
  readonly task: 'wake';
  readonly batch: 'countDown';
  readonly key: 'enter leave';
  readonly line: 'join passAndJoin';
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
type Named<Rows extends Sent | Accompanying> = {
  [Row in keyof Rows & string]: `${Row}.${Words<Rows[Row] & string>}`;
}[keyof Rows & string];

export type SentVerb = Named<Sent>;
/** Satellites add statements of rows of their own. */
export type Verb = SentVerb | Named<Accompanying> | `check.${string}`;
