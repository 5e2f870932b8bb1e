/** The verbs of packs, with every write on record. */
import type { PackStore } from '../../shared/tasks/bulk/pack-store.ts';
import { byHolder, ofTask, recording } from './observed-stores.ts';

export const observePacks = recording<PackStore>({
  enqueue: (pack, stamp) => ofTask('pack.enqueue', pack, stamp),
  record: (claim, _entry, stamp) => byHolder('pack.record', claim, stamp),
  finish: (claim, _entry, stamp) => byHolder('pack.finish', claim, stamp),
  commit: (claim, _index, _entry, _effects, stamp) => byHolder('pack.commit', claim, stamp),
  move: (claim, _item, _entry, stamp) => byHolder('pack.move', claim, stamp),
  cancelItem: (observed, _index, stamp) => ofTask('pack.cancelItem', observed, stamp),
  cancelRunningItem: (observed, _index, stamp) => ofTask('pack.cancelRunningItem', observed, stamp),
});
