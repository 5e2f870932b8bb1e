/** Single keys, which can be turned off, and the dialog that lists them. */
import { openDialog } from './dialog.js';
import { h } from './dom.js';
import { isOn, turn } from './settings.js';

/**
 * @param {HTMLElement} header whose links say which key leads to them
 * @param {() => void} help
 */
export function listenToKeys(header, help) {
  addEventListener('keydown', (event) => {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    const isTyping = target instanceof HTMLElement && target.closest('input, select, textarea, dialog') !== null;
    if (!isOn('keys') || isTyping || ctrlKey || metaKey || altKey) return;
    if (key === '?') help();
    if (key === '/') {
      event.preventDefault();
      const search =
        document.querySelector('form[role=search] input[data-find]') ??
        document.querySelector('form[role=search] input');
      if (search instanceof HTMLElement) search.focus();
      else location.hash = '#/tasks';
    }
    const link = header.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
    if (link instanceof HTMLElement) link.click();
  });
}

/** @param {() => void} onChange */
export function openHelp(onChange) {
  const pages = [...document.querySelectorAll('#bar [aria-keyshortcuts]')];
  /**
   * @param {import('./settings.js').Setting} setting
   * @param {string} text
   */
  const choice = (setting, text) =>
    h(
      'label.choice',
      h('input', {
        type: 'checkbox',
        checked: isOn(setting),
        onchange: (/** @type {Event} */ { target }) => {
          turn(setting, /** @type {HTMLInputElement} */ (target).checked);
          onChange();
        },
      }),
      text,
    );
  const dialog = openDialog('Keys and times', [
    choice('keys', 'Single keys act, outside of fields'),
    h(
      'dl.keys',
      pages.map((page) => [
        h('dt', h('kbd', page.getAttribute('aria-keyshortcuts'))),
        h('dd', page.getAttribute('data-title')),
      ]),
      h('dt', h('kbd', '/')),
      h('dd', 'Find a task, or filter the page'),
      h('dt', h('kbd', '?')),
      h('dd', 'This list'),
    ),
    choice('absoluteTimes', 'Show moments as date and time, with the zone'),
    h('div.buttons', h('button.primary', { type: 'button', onclick: () => dialog.close() }, 'Close')),
  ]);
}
