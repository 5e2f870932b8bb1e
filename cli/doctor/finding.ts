/** A finding of doctor: the subject, its health, and the repair. */

/**
 * `ok`       as it should be.
 * `warning`  works, but has a cost or a risk.
 * `broken`   does not work, or not safely.
 * `unknown`  could not be checked: an emulator without the feature, or missing permissions.
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
