/** The id of a callback: its task, its operation and a secret that cannot be guessed. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import { base64Of, bytesOfBase64 } from '../../core/runtime/bytes.ts';
import type { TaskKey } from '../task/task.ts';

export interface CallbackKey extends TaskKey {
  /** The operation's name in the task's row. */
  readonly openKey: string;
}

export function callbackIdOf({ queue, id }: TaskKey, openKey: string): string {
  const text = base64Of(new TextEncoder().encode(JSON.stringify([queue, id, openKey])));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @throws ConfigurationError */
export function callbackKeyOf(callbackId: string): CallbackKey {
  const [queue, id, openKey] = typeof callbackId === 'string' ? partsOf(callbackId) : [];
  if (queue !== undefined && id !== undefined && openKey !== undefined && /^\w+\../.test(openKey))
    return { queue, id, openKey };
  throw new ConfigurationError(
    `the id of a callback is ${shown(callbackId)}: pass the id that createCallback or waitForCallback gave to your code`,
  );
}

function partsOf(callbackId: string): readonly (string | undefined)[] {
  try {
    const parts: unknown = JSON.parse(new TextDecoder().decode(bytesOfBase64(callbackId)));
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : [];
  } catch {
    return [];
  }
}
