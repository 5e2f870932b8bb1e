/** The ports of a task picker and its parts, in a simulated place without faults. */
import type { Stores } from '../../shared/client/stores.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { PickerPorts } from '../../shared/tasks/picker/task-picker.ts';

interface Place {
  readonly runtime: Runtime;
  readonly stores: Stores;
}

const thrown = (error: unknown): never => {
  throw error;
};

export function pickerPorts({ runtime, stores }: Place): PickerPorts {
  return {
    ...stores,
    runtime,
    gauge: noSkewGauge,
    onDamaged: thrown,
    onSkewed: thrown,
    onWorthPolling: () => undefined,
    isTriedAlone: () => false,
    lanes: () => undefined,
    shards: () => undefined,
    isPaused: () => false,
  };
}
