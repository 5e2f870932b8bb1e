/** The one dialog of the page: a form in it, where the focus goes afterwards, and the connection that commands name. */

/** @import { ConnectionInfo } from '../model.ts' */
/** @import { Child, Props } from './dom.js' */
import { focusNear, h, rowOf } from './dom.js';

/** @type {ConnectionInfo | undefined} */
let desk;

/** @param {ConnectionInfo} connection */
export function setDesk(connection) {
  desk = connection;
}

export function deskOf() {
  return desk;
}

function dialogOf() {
  return /** @type {HTMLDialogElement} */ (document.getElementById('act'));
}

export function closeDialog() {
  dialogOf().close();
}

/**
 * @param {string} title
 * @param {Child} content
 * @returns {HTMLDialogElement}
 */
export function openDialog(title, content) {
  const dialog = dialogOf();
  const row = rowOf(document.activeElement);
  dialog.replaceChildren(h('h2', { id: 'act-title' }, title), h('div', content));
  dialog.onclose = () => {
    // The browser gives the focus back to what opened the dialog, unless that is gone.
    if (document.activeElement === null || document.activeElement === document.body) focusNear(row);
  };
  dialog.showModal();
  return dialog;
}

/**
 * A field with its label, and beneath it what is said of it.
 * @param {string} label
 * @param {Props & { readonly name: string }} props
 * @param {Child} [hint]
 * @param {string} [tag]
 */
export function field(label, props, hint, tag = 'input') {
  const id = `field-${props.name}`;
  return h(
    'div.field',
    h('label', { for: id }, label),
    h(tag, { id, autocomplete: 'off', spellcheck: 'false', 'aria-describedby': `${id}-hint`, ...props }),
    h('small', { id: `${id}-hint` }, hint ?? ''),
  );
}

/**
 * Says what is wrong with a field, or that nothing is.
 * @param {HTMLFormElement} form
 * @param {string} name
 * @param {string} hint
 * @param {boolean} isWrong
 */
export function setHint(form, name, hint, isWrong) {
  const input = form.elements.namedItem(name);
  const place = document.getElementById(`field-${name}-hint`);
  if (!(input instanceof HTMLElement) || place === null) return;
  place.textContent = hint;
  place.className = isWrong ? 'wrong' : '';
  if (isWrong) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
}
