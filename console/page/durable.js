/** A durable task: its waits, a form for each open callback, and its history. */

/** @import { Act, DurableView } from '../model.ts' */
/** @import { Scene } from './app.js' */
import { actButton } from './act-dialog.js';
import { field } from './dialog.js';
import { h } from './dom.js';
import { copyable, tableOf, taskLink, when } from './parts.js';

const DETAILS_SHOWN = 200;

/**
 * @param {DurableView} execution
 * @param {Scene} scene
 */
export function durable({ history, awaited }, scene) {
  const { now, task } = scene.data;
  const names = new Map(history.map(({ Id, Name }) => [Id, Name]));
  return [
    awaited.length > 0 && [
      h('h2', 'Waits for'),
      tableOf(
        'Waits for',
        [
          { title: 'operation', class: 'name', cell: ({ name }) => name },
          {
            title: 'answer or task',
            class: 'wide',
            cell: (one) =>
              one.callback === undefined
                ? one.task !== undefined && taskLink(task.queue, one.task)
                : copyable(one.callback, 'the callback id'),
          },
          {
            title: 'answer',
            cell: ({ name, callback }) => scene.mayAct && callback !== undefined && answers(name, callback, scene),
          },
        ],
        awaited,
        ({ name, callback, task: child }) => callback ?? child ?? name,
      ),
    ],
    h('h2', 'Execution'),
    tableOf(
      'Execution',
      [
        { title: 'event', class: 'name', cell: ({ EventType }) => EventType },
        { title: 'at', class: 'number', cell: ({ EventTimestamp }) => when(Date.parse(String(EventTimestamp)), now) },
        { title: 'name', class: 'name', cell: ({ Name, ParentId, Id }) => Name ?? names.get(ParentId) ?? Id },
        {
          title: 'details',
          class: 'text',
          cell: (event) => JSON.stringify(event[`${event.EventType}Details`] ?? {}).slice(0, DETAILS_SHOWN),
        },
      ],
      history,
      ({ EventId }) => String(EventId),
    ),
  ];
}

/**
 * @param {string} name
 * @param {string} callbackId
 * @param {Scene} scene
 */
function answers(name, callbackId, { refresh }) {
  const asked = (/** @type {'callback.succeed' | 'callback.fail'} */ verb, /** @type {string} */ label) => ({
    title: `Answer ${name}`,
    target: name,
    consequence: 'The task goes on with this answer. A callback is answered once.',
    confirm: 'Answer',
    fields: field(label, { name: 'text', rows: 3, autofocus: true }, 'What its code gets, as it is.', 'textarea'),
    read: (/** @type {HTMLFormElement} */ form) => ({ text: String(new FormData(form).get('text') ?? '') }),
    act: { verb, callbackId },
    onDone: refresh,
  });
  const succeed = actButton('Succeed…', asked('callback.succeed', 'Result'));
  return h('span.acts', [succeed, actButton('Fail…', asked('callback.fail', 'Message of the error'))]);
}
