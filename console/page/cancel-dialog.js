/** Cancels the unfinished tasks of a queue that a tenant, a key, a name or a batch have in common. */

/** @import { SelectedPage } from '../model.ts' */
import { askToAct } from './act-dialog.js';
import { ask } from './api.js';
import { field, setHint } from './dialog.js';
import { h } from './dom.js';
import { whole } from './format.js';

const PARTS = /** @type {const} */ ([
  ['tenant', 'Tenant'],
  ['key', 'Key'],
  ['name', 'Name of the definition'],
  ['batch', 'Batch'],
]);

/**
 * @param {string} queue
 * @param {() => void} onDone
 */
export function askToCancel(queue, onDone) {
  askToAct({
    title: `Cancel tasks of ${queue}`,
    target: `tasks of ${queue}`,
    consequence:
      'Ends every unfinished task that has all that you name, and was added before now: a waiting one at once, a running one at its next heartbeat. Workers may start some meanwhile: to let none start, pause the tenant first.',
    confirm: 'Cancel tasks',
    isFinal: true,
    act: { verb: 'queue.cancel', queue },
    fields: [
      PARTS.map(([name, label]) => field(label, { name, autofocus: name === 'tenant' })),
      h('p', { id: 'selected', role: 'status' }),
    ],
    read,
    onDone,
  });
  const input = document.getElementById('field-tenant');
  if (!(input instanceof HTMLInputElement) || input.form === null) return;
  const { form } = input;
  form.addEventListener('change', () => void count(form, queue));
}

/** @param {HTMLFormElement} form */
function read(form) {
  const given = new FormData(form);
  const parts = PARTS.flatMap(([name]) => {
    const value = String(given.get(name) ?? '').trim();
    return value === '' ? [] : [[name, value]];
  });
  setHint(form, 'tenant', parts.length === 0 ? 'Name one of these, or more.' : '', parts.length === 0);
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

/**
 * Says how many tasks that would be.
 * @param {HTMLFormElement} form
 * @param {string} queue
 */
async function count(form, queue) {
  const selection = read(form);
  const place = form.querySelector('#selected');
  if (place === null) return;
  const text = selection === undefined ? '' : await ask('selected', { queue, ...selection }).then(countText, String);
  // Another answer may come for what was there before.
  if (JSON.stringify(read(form)) === JSON.stringify(selection)) place.textContent = text;
}

/** @param {SelectedPage} page */
function countText({ waiting, running, isMore }) {
  return `${isMore ? 'At least ' : ''}${whole(waiting)} waiting and ${whole(running)} running now.`;
}
