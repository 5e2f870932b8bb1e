/** A new task, or one like another with other input. */

/** @import { KnownName } from '../model.ts' */
import { askToAct } from './act-dialog.js';
import { ask } from './api.js';
import { field, setHint } from './dialog.js';
import { h } from './dom.js';
import { suggestions, to } from './parts.js';

/** As the library has it. */
const INPUT_LIMIT_BYTES = 16 * 1024;

/** @param {{ readonly queue: string, readonly name?: string, readonly input?: unknown }} task to begin with */
export async function askForTask({ queue, name = '', input }) {
  /** @type {readonly KnownName[]} */
  const known = await ask('names', { queue }).catch(() => []);
  askToAct({
    title: name === '' ? `New task in ${queue}` : `Run ${name} again with this input`,
    target: queue,
    consequence: 'A task of its own: it is due at once, or after the delay, and a worker of the queue claims it.',
    confirm: 'Add task',
    act: { verb: 'task.enqueue', queue },
    reason: 'added by hand',
    fields: [
      field('Name', { name: 'name', value: name, required: true, list: 'names', autofocus: true }),
      suggestions(
        'names',
        known.map((one) => one.name),
      ),
      field('Input (JSON)', { name: 'input', rows: 6 }, '', 'textarea'),
      field('Id', { name: 'id' }, 'Optional. One id stands for one piece of work: added twice, it is one task.'),
      field('Delay in seconds', { name: 'delay', inputmode: 'decimal', pattern: '[0-9]+([.][0-9]+)?' }, 'Optional.'),
    ],
    read: (form) => read(form, known),
    onDone: ({ id }) => {
      if (id !== undefined) location.hash = to('task', { queue, id });
    },
  });
  const area = document.getElementById('field-input');
  if (!(area instanceof HTMLTextAreaElement) || area.form === null) return;
  area.value = input === undefined ? '{}' : JSON.stringify(input, undefined, 2);
  area.form.dispatchEvent(new Event('input'));
}

/**
 * @param {HTMLFormElement} form
 * @param {readonly KnownName[]} known
 */
function read(form, known) {
  const given = new FormData(form);
  const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
  const name = text('name');
  const alike = known.find((one) => one.name === name);
  setHint(
    form,
    'name',
    name === '' || alike
      ? ''
      : 'No task of this name was seen here, and no worker has announced it: the task waits until a worker knows it.',
    false,
  );
  /** @type {unknown} */
  let input;
  try {
    input = JSON.parse(text('input'));
  } catch (error) {
    setHint(form, 'input', `This is not JSON: ${error instanceof Error ? error.message : error}`, true);
    return undefined;
  }
  const bytes = new TextEncoder().encode(JSON.stringify(input)).length;
  if (bytes > INPUT_LIMIT_BYTES) {
    setHint(form, 'input', `${bytes} bytes: an input that is added here has at most ${INPUT_LIMIT_BYTES}.`, true);
    return undefined;
  }
  setHint(form, 'input', difference(input, alike), false);
  const [id, delay] = [text('id'), text('delay')];
  return { name, input, ...(id && { id }), ...(delay && { delayMs: Math.round(Number(delay) * 1_000) }) };
}

/**
 * Compares the fields of this input with the last input seen under this name.
 * @param {unknown} input
 * @param {KnownName | undefined} alike
 */
function difference(input, alike) {
  if (alike?.fields === undefined) return '';
  const fields = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.keys(input) : [];
  const missing = alike.fields.filter((one) => !fields.includes(one));
  const further = fields.filter((one) => !alike.fields?.includes(one));
  const parts = [
    missing.length > 0 ? `without ${missing.join(', ')}` : '',
    further.length > 0 ? `with ${further.join(', ')} in addition` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : `Unlike the last input seen with this name: ${parts.join(', and ')}.`;
}
