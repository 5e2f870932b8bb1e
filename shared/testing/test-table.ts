/** The users' own tables in a test kit. */
import { ConfigurationError } from '../core/errors.ts';
import { validName } from '../core/validate/options.ts';
import type { TableDefinition } from './simulated-dynamo/table-definition.ts';

/** The kit's own table. */
export const TABLE = 'leasehold';

/** A table whose keys are texts. */
export interface TestTable {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey?: string;
}

/** @throws ConfigurationError */
export function definitionOf({ name, partitionKey, sortKey }: TestTable): TableDefinition {
  if (name === TABLE)
    throw new ConfigurationError(`a table of yours is named ${TABLE}: that is the name of the kit's own`);
  const key = (attribute: string) => ({ name: validName(`a key of table ${name}`, attribute), type: 'S' }) as const;
  return {
    name: validName('the name of a table', name),
    partition: key(partitionKey),
    ...(sortKey === undefined ? {} : { sort: key(sortKey) }),
  };
}
