/** Queues: the backlog of each, and pausing one. */

/** @import { View } from '../app.js' */
import { empty, heading } from '../parts.js';
import { queueTable } from '../queue-table.js';

/** @type {View} */
export const queues = {
  title: 'Queues',
  draw: (scene) => [
    heading('Queues'),
    scene.overview.queues.length === 0
      ? empty('No queues yet.', 'A queue is listed with its first worker; the Tasks page opens any queue by name.')
      : queueTable(scene, true),
  ],
};
