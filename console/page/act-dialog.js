/** Before anything is done: what it does to whom, the counter that was seen, and why. */

/** @import { Act } from '../model.ts' */
import { Refusal, perform } from './api.js';
import { h } from './dom.js';
import { button } from './parts.js';
import { toast } from './toast.js';

/**
 * @typedef {object} Question
 * @property {string} title what is done: a verb and its object
 * @property {string} consequence what becomes of it
 * @property {string} confirm what the button says
 * @property {Record<string, unknown> & { verb: Act['verb'] }} act all of it but the reason
 * @property {() => void} [onDone]
 * @property {string} [class] of the button that leads to it
 */

/**
 * A button that does nothing before it has asked.
 * @param {string} text
 * @param {Question} question
 */
export function actButton(text, question) {
  return button(text, () => askToAct(question), { class: question.class });
}

/** @param {Question} question */
function askToAct(question) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('act'));
  const { title, consequence, confirm, act } = question;
  const hasCounter = 'leaseCounter' in act;
  dialog.replaceChildren(
    h(
      'form',
      { method: 'dialog', onsubmit: (/** @type {SubmitEvent} */ event) => submit(event, dialog, question) },
      h('h2', { id: 'act-title' }, title),
      h('p', {}, consequence),
      hasCounter &&
        h(
          'label',
          {},
          h('span', {}, 'Token (must still match)'),
          h('input', {
            name: 'counter',
            value: String(act.leaseCounter),
            inputmode: 'numeric',
            pattern: '[0-9]+',
            required: true,
            autocomplete: 'off',
          }),
          h('small', {}, 'The token this page has read. If the key has another one by now, nothing happens.'),
        ),
      h(
        'label',
        {},
        h('span', {}, 'Reason'),
        h('input', { name: 'reason', required: true, maxlength: 200, autocomplete: 'off', autofocus: true }),
        h('small', {}, 'Recorded in the audit log with your name.'),
      ),
      h('p', { class: 'refusal', role: 'alert', hidden: true }),
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', onclick: () => dialog.close() }, 'Go back'),
        h('button', { type: 'submit', class: 'danger' }, confirm),
      ),
    ),
  );
  dialog.showModal();
}

/**
 * @param {SubmitEvent} event
 * @param {HTMLDialogElement} dialog
 * @param {Question} question
 */
async function submit(event, dialog, { act, onDone }) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const given = new FormData(form);
  const reason = String(given.get('reason') ?? '').trim();
  const counter = given.get('counter');
  const whole = { ...act, reason, ...(counter === null ? {} : { leaseCounter: Number(counter) }) };
  const buttons = form.querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  const { isDone, message } = await perform(/** @type {Act} */ (/** @type {unknown} */ (whole))).then(
    (answer) => ({ isDone: answer.kind === 'done', message: answer.message }),
    (error) => ({ isDone: false, message: error instanceof Refusal ? error.message : String(error) }),
  );
  for (const button of buttons) button.disabled = false;
  if (isDone) {
    dialog.close();
    toast(message);
    onDone?.();
    return;
  }
  const refusal = /** @type {HTMLElement} */ (form.querySelector('.refusal'));
  refusal.textContent = message;
  refusal.hidden = false;
}
