/**
 * Inflates the JSON of rows as they arrive, for hosts without zlib. Their streams are asynchronous, but decoders are synchronous.
 * A value that cannot be inflated stays as it is, so the decoder reports that row alone as damaged.
 */
import { inflatedByStream } from '../../core/runtime/deflate.ts';
import type { DynamoDriver } from '../../dynamo/engine/driver.ts';
import { DynamoFault } from '../../dynamo/engine/driver.ts';
import { DEFLATABLE, INFLATED_LIMIT_BYTES } from '../../dynamo/engine/stored-json.ts';

/** @param driver its responses are changed in place, because nobody else uses them yet */
export function inflatingDriver(driver: DynamoDriver): DynamoDriver {
  return {
    connections: driver.connections,
    async attempt(...request) {
      try {
        const output = await driver.attempt(...request);
        await inflateIn(output);
        return output;
      } catch (fault) {
        // The row that refused a write.
        if (fault instanceof DynamoFault) await inflateIn([fault.item, fault.reasons]);
        throw fault;
      }
    },
  };
}

async function inflateIn(answer: object): Promise<void> {
  await Promise.all(
    deflatedIn(answer).map(async ({ holder, name, bytes }) => {
      holder[name] = (await inflatedByStream(bytes, INFLATED_LIMIT_BYTES)) ?? bytes;
    }),
  );
}

interface Deflated {
  readonly holder: Record<string, unknown>;
  readonly name: string;
  readonly bytes: Uint8Array;
}

function deflatedIn(value: unknown): Deflated[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    member instanceof Uint8Array && DEFLATABLE.has(name)
      ? [{ holder: value as Record<string, unknown>, name, bytes: member }]
      : deflatedIn(member),
  );
}
