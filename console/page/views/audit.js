/** Operator actions, from the page and the command. */

/** @import { AuditPage } from '../../model.ts' */
/** @import { View } from '../app.js' */
import { h } from '../dom.js';
import { badge, empty, heading, tableOf, when } from '../parts.js';

/** @type {Readonly<Record<string, Parameters<typeof badge>[1]>>} */
const TONES = { begun: 'warning', refused: 'warning' };

/** @type {View} */
export const audit = {
  title: 'Audit',
  question: () => ({ path: 'audit' }),
  draw({ data }) {
    /** @type {AuditPage} */
    const { acts, now, isMore } = data;
    return [
      heading('Audit', isMore && h('small', `the last ${acts.length}; there are more`)),
      acts.length === 0
        ? empty(
            'No operator actions recorded.',
            'Each action of an operator, in this console or with the command, is recorded before it is carried out.',
          )
        : tableOf(
            'Actions',
            [
              { title: 'when', cell: ({ at }) => when(at, now) },
              { title: 'by', class: 'text', cell: ({ by }) => by },
              { title: 'action', cell: ({ verb }) => h('code', verb) },
              { title: 'target', class: 'text', cell: ({ target }) => target },
              {
                title: 'outcome',
                cell: ({ outcome }) =>
                  badge(outcome, outcome.startsWith('failed') ? 'bad' : (TONES[outcome] ?? 'quiet')),
              },
              { title: 'reason', class: 'text', cell: ({ reason }) => reason },
            ],
            acts,
            ({ id }) => id,
          ),
    ];
  },
};
