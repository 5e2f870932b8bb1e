/**
 * Loaded into each worker before anything else (`--import`): moves its wall clock, in steps, and names it to the proxy.
 * Elapsed time is left alone; it is what a machine's monotonic clock would say.
 */
import { Prng } from '../../test/support/machines/prng.ts';
import { CLOCK } from './profile.ts';
import { environmentId, workerSettings } from './worker-settings.ts';

const { seed } = workerSettings();
const random = new Prng(BigInt(seed)).fork(environmentId());
const realNow = Date.now.bind(Date);
const draw = (): number => Math.round(random.between(-CLOCK.maxOffsetMs, CLOCK.maxOffsetMs));
let offsetMs = draw();

Date.now = () => realNow() + offsetMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, given, made) =>
    Reflect.construct(target, given.length === 0 ? [target.now()] : given, made) as Date,
  apply: (target) => new target(target.now()).toString(),
});
setInterval(() => {
  offsetMs = draw();
}, CLOCK.stepEveryMs).unref();

// The SDK puts it into the User-Agent of each request, so that the proxy knows whose request it is.
process.env.AWS_SDK_UA_APP_ID = environmentId();
