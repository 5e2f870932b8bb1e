/** The shared part of the three dialogs that revoke something. */

import { field } from './dialog.js';

/** What happens to the holder, and when others get what it had. @param {string} what opens */
export function forceConsequence(what) {
  return `It learns of it with its next heartbeat, and if none gets through, it goes on until its session would have expired. ${what} not before that, and not before the lock-delay is over. This cannot be undone.`;
}

/** What the questions have in common. */
export function forcing() {
  const fields = field(
    'Lock-delay in seconds',
    { name: 'lockDelay', inputmode: 'decimal', pattern: '[0-9]+([.][0-9]+)?' },
    'Only if you cannot wait, because the holder is gone for certain: 0 opens it now. If it is not gone, two holders go on at once.',
  );
  return { isFinal: true, fields, read: readLockDelay, class: 'small' };
}

/** @param {HTMLFormElement} form */
function readLockDelay(form) {
  const given = String(new FormData(form).get('lockDelay') ?? '').trim();
  return given === '' ? {} : { lockDelayMs: Math.round(Number(given) * 1_000) };
}
