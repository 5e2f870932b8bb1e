import type { CheckStore } from '../check-store.ts';
import { decodeCheck } from './check-codec.ts';
import { splitKey } from '../../../shared/dynamo/engine/keys.ts';
import { Rows } from '../../../shared/dynamo/engine/rows.ts';
import type { Sender } from '../../../shared/dynamo/engine/send.ts';
import * as statements from './check-statements.ts';

export function createCheckStore(sender: Sender, table: string): CheckStore {
  const rows = new Rows(sender, decodeCheck);
  return {
    register: (observed, check, stamp) => rows.write(statements.registerCheck(table, observed, check, stamp), stamp),
    report: (observed, report, stamp) => rows.write(statements.reportCheck(table, observed, report, stamp), stamp),
    deregister: (observed, stamp) => rows.write(statements.deregisterCheck(table, observed, stamp), stamp),

    get: (key) => rows.get(statements.readCheck(table, key)),

    async getMany(keys) {
      const checks = await rows.getMany(table, statements.readChecks(table, keys));
      return new Map(checks.map((check) => [check.id, check]));
    },

    async page(node, after) {
      const prefix = node === undefined ? '' : `${node}#`;
      const { Items = [], LastEvaluatedKey } = await sender.read(statements.pageOfChecks(table, prefix, after));
      const keys = Items.map((item) => splitKey(String(item.pk))).map(([, owner = '', id = '']) => ({
        node: owner,
        id,
      }));
      return { keys: keys.filter((key) => node === undefined || key.node === node), next: LastEvaluatedKey };
    },
  };
}
