/** Asks before an action: its effect and object, the token that was seen, and the reason. */

/** @import { Act } from '../model.ts' */
/** @import { Child } from './dom.js' */
import { Refusal, perform } from './api.js';
import { commandOf } from './command.js';
import { closeDialog, deskOf, field, openDialog, setHint } from './dialog.js';
import { h } from './dom.js';
import { button, copyButton } from './parts.js';
import { toast } from './toast.js';

/**
 * @typedef {object} Question
 * @property {string} title the action: a verb and its object
 * @property {string} target its object, for screen readers that announce only the button
 * @property {string} consequence its effect
 * @property {string} confirm the button's text
 * @property {boolean} [isFinal] it cannot be undone
 * @property {Record<string, unknown> & { verb: Act['verb'] }} act the action without its reason
 * @property {(answer: { readonly message: string, readonly id?: string }) => void} [onDone]
 * @property {string} [class] of the button that opens it
 * @property {string} [reason] initial reason
 * @property {Child} [fields] further fields
 * @property {(form: HTMLFormElement) => Record<string, unknown> | undefined} [read]
 *   returns the fields' values, or undefined if they cannot be sent; also called after each change
 */

/**
 * A button that does nothing before it has asked.
 * @param {string} text
 * @param {Question} question
 */
export function actButton(text, question) {
  return button(text, () => askToAct(question), {
    class: question.class,
    'data-key': question.act.verb,
    'aria-label': `${text} ${question.target}`,
  });
}

/** @param {Question} question */
export function askToAct(question) {
  const { title, consequence, confirm, act, isFinal = false, fields, reason = '' } = question;
  const hasToken = 'leaseCounter' in act;
  const form = /** @type {HTMLFormElement} */ (
    h(
      'form',
      {
        method: 'dialog',
        onsubmit: (/** @type {SubmitEvent} */ event) => {
          event.preventDefault();
          void submit(form, question);
        },
        oninput: () => showCommand(form, question),
      },
      h('p', consequence),
      fields,
      hasToken &&
        field(
          'Token (must still match)',
          {
            name: 'token',
            value: String(act.leaseCounter),
            inputmode: 'numeric',
            pattern: '[0-9]+',
            required: true,
            // A form with other fields begins with them.
            autofocus: false,
          },
          'The token this page has read. If there is another one by now, nothing happens.',
        ),
      field(
        'Reason',
        { name: 'reason', value: reason, required: true, maxlength: 200, autofocus: reason === '' },
        'Recorded in the audit log with your name.',
      ),
      h('p.note.bad', { id: 'refusal', role: 'alert', hidden: true }),
      h(
        'details.command',
        h('summary', 'As a command'),
        h('pre', { tabindex: 0 }),
        copyButton(() => form.querySelector('pre')?.textContent ?? '', 'the command'),
      ),
      h(
        'div.buttons',
        button('Go back', closeDialog),
        h('button', { type: 'submit', class: isFinal ? 'danger' : 'primary' }, confirm),
      ),
    )
  );
  openDialog(title, form);
  showCommand(form, question);
}

/**
 * @param {HTMLFormElement} form
 * @param {Question} question
 * @returns {Act | undefined}
 */
function actIn(form, { act, read }) {
  const given = new FormData(form);
  const token = given.get('token');
  const rest = read?.(form) ?? (read === undefined ? {} : undefined);
  if (rest === undefined) return undefined;
  const reason = String(given.get('reason') ?? '').trim();
  const whole = { ...act, ...rest, reason, ...(token === null ? {} : { leaseCounter: Number(token) }) };
  return /** @type {Act} */ (/** @type {unknown} */ (whole));
}

/**
 * @param {HTMLFormElement} form
 * @param {Question} question
 */
function showCommand(form, question) {
  const act = actIn(form, question);
  const place = form.querySelector('pre');
  if (place !== null) place.textContent = act === undefined ? '' : commandOf(act, deskOf());
}

/**
 * @param {HTMLFormElement} form
 * @param {Question} question
 */
async function submit(form, question) {
  const act = actIn(form, question);
  if (act === undefined) {
    /** @type {HTMLElement | null} */ (form.querySelector('[aria-invalid]'))?.focus();
    return;
  }
  const buttons = form.querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  const answer = await perform(act).catch((error) => ({
    kind: 'failed',
    message: error instanceof Refusal ? error.message : String(error),
  }));
  for (const button of buttons) button.disabled = false;
  if (answer.kind === 'done') {
    closeDialog();
    toast(answer.message);
    question.onDone?.(answer);
    return;
  }
  const refusal = /** @type {HTMLElement} */ (form.querySelector('#refusal'));
  refusal.textContent = answer.message;
  refusal.hidden = false;
  const token = form.elements.namedItem('token');
  if (answer.kind !== 'refused' || !(token instanceof HTMLInputElement)) return;
  setHint(form, 'token', 'It does not match any more: see below.', true);
  token.setAttribute('aria-describedby', 'field-token-hint refusal');
  token.focus();
}
