/** A real task on real input: count and hash the files of one installed package. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { DoNotRetry, defineTask } from 'leasehold/tasks';
import { z } from 'zod';
import { digestTree } from './tree.ts';

/** The results' table: the user's own, not Leasehold's. */
export const INVENTORY_TABLE = 'inventory';

export const inventoryPackage = defineTask({
  name: 'inventory.package',
  input: z.object({
    /** The folder that holds `node_modules`. */
    root: z.string(),
    /** The package's place below it, as lock files write it: `node_modules/zod`. */
    place: z.string().startsWith('node_modules/'),
  }),
  retry: { maxAttempts: 5, backoff: '200ms' },
  timeout: '2m',
  async run({ root, place }, task) {
    const folder = path.join(root, place);
    const { name, version, license } = await readManifest(folder);
    const digest = await digestTree(folder, task.signal);
    // The count shows whether an effect took place twice: one transaction adds one, conditional on the lease counter.
    return await task.commit({ files: digest.files }, [
      {
        Update: {
          TableName: INVENTORY_TABLE,
          Key: { place },
          UpdateExpression:
            'SET #name = :name, #version = :version, #license = :license, #files = :files, #bytes = :bytes, #sha256 = :sha256, #token = :token ' +
            'ADD #commits :one',
          ExpressionAttributeNames: {
            '#name': 'name',
            '#version': 'version',
            '#license': 'license',
            '#files': 'files',
            '#bytes': 'bytes',
            '#sha256': 'sha256',
            '#token': 'fencingToken',
            '#commits': 'commits',
          },
          ExpressionAttributeValues: {
            ':name': name,
            ':version': version,
            ':license': license,
            ':files': digest.files,
            ':bytes': digest.bytes,
            ':sha256': digest.sha256,
            ':token': task.fencingToken,
            ':one': 1,
          },
        },
      },
    ]);
  },
});

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

async function readManifest(folder: string): Promise<Manifest> {
  let text: string;
  try {
    text = await readFile(path.join(folder, 'package.json'), 'utf8');
  } catch (cause) {
    throw new DoNotRetry(`${folder} holds no readable package.json: it is not an installed package`, { cause });
  }
  const { name, version, license } = JSON.parse(text) as { name?: string; version?: string; license?: unknown };
  return {
    name: name ?? 'unnamed',
    version: version ?? 'unversioned',
    license: typeof license === 'string' ? license : 'see package',
  };
}
