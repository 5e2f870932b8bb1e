/** What doctor finds, one thing at a time: what was looked at, how it is, and what repairs it. */

/**
 * `ok`       as it should be.
 * `warning`  it works, and costs or risks something.
 * `broken`   it does not work, or not safely.
 * `unknown`  could not be looked at: an emulator without the feature, or no permission to ask.
 */
export type Health = 'ok' | 'warning' | 'broken' | 'unknown';

export interface Finding {
  readonly check: string;
  readonly health: Health;
  readonly found: string;
  /** A command, or a sentence. */
  readonly remedy?: string;
}

export const ok = plain('ok');
export const unknown = plain('unknown');
export const warning = curable('warning');
export const broken = curable('broken');

function plain(health: Health) {
  return (check: string, found: string): Finding => ({ check, health, found });
}

function curable(health: Health) {
  return (check: string, found: string, remedy: string): Finding => ({ check, health, found, remedy });
}

/** By severity, the worst first. */
export function worstOf(findings: readonly Finding[]): Health {
  const order: readonly Health[] = ['broken', 'warning', 'unknown'];
  return order.find((health) => findings.some((finding) => finding.health === health)) ?? 'ok';
}
