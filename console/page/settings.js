/** A person's settings, stored in this browser. */

const DEFAULTS = { keys: true, absoluteTimes: false };
const PREFIX = 'leasehold-';

/** @typedef {keyof typeof DEFAULTS} Setting */

/** @param {Setting} setting */
export function isOn(setting) {
  try {
    const kept = localStorage.getItem(PREFIX + setting);
    return kept === null ? DEFAULTS[setting] : kept === 'on';
  } catch {
    // A browser may forbid it.
    return DEFAULTS[setting];
  }
}

/**
 * @param {Setting} setting
 * @param {boolean} on
 */
export function turn(setting, on) {
  try {
    localStorage.setItem(PREFIX + setting, on ? 'on' : 'off');
  } catch {
    // Then it holds for no longer than this page.
    DEFAULTS[setting] = on;
  }
}
