import type { Outcome } from '../../lease/outcome.ts';
import type { CheckRecord } from '../../session/health.ts';
import type { CheckStore } from '../../remote/check-store.ts';
import { decodeCheck } from './codec.ts';
import { splitKey } from '../engine/keys.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import type { Statement } from '../engine/statement.ts';
import * as statements from './statements.ts';

export function createCheckStore(sender: Sender, table: string): CheckStore {
  return {
    register: (observed, check, stamp) => update(statements.registerCheck(table, observed, check, stamp), stamp.nonce),
    report: (observed, report, stamp) => update(statements.reportCheck(table, observed, report, stamp), stamp.nonce),
    deregister: (observed, stamp) => update(statements.deregisterCheck(table, observed, stamp), stamp.nonce),

    async get(key) {
      const { Item } = await sender.read(statements.readCheck(table, key));
      return Item === undefined ? undefined : decodeCheck(Item);
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

  async function update(statement: Statement<'update'>, nonce: string): Promise<Outcome<CheckRecord>> {
    return outcomeOf(await sender.write(statement, nonce), decodeCheck, decodeCheck);
  }
}
