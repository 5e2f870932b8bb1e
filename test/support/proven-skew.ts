/** A process whose clock is proven wrong by the next answer, as by the header of a response. */
import type { Process } from './coordination.ts';

export function provedByNextAnswer({ driver, provenSkew }: Process, skewMs: number): void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = async (kind, input, signal) => {
    driver.attempt = attempt;
    const output = await attempt(kind, input, signal);
    provenSkew.ms = skewMs;
    return output;
  };
}
