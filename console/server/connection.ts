/** The console's composition root: one client, and for each poll a set of stores whose units are counted separately. */
import { operatedBy } from '../../cli/connection.ts';
import type { PageOptions } from '../../cli/page.ts';
import { AuditStore } from '../../shared/operate/audit/audit-store.ts';
import type { DynamoConnection } from '../../shared/dynamo/connect.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { isLoopback } from '../../shared/dynamo/wire/endpoint.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import type { SendObserver } from '../../shared/dynamo/engine/send.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import type { ClientStores as TableStores } from '../../shared/client/stores.ts';
import { createClientStores } from '../../shared/client/stores.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import { Operations } from '../../shared/operate/operations.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { ScheduleClient } from '../../shared/tasks/schedule/schedule-client.ts';
import type { ConnectionInfo } from '../model.ts';

type ConnectionSettings = Omit<PageOptions, 'port' | 'everyMs' | 'onEntered'>;

/** Everything that a view or an operation needs, over one sender. */
export interface Stores extends Omit<TableStores, 'operations'> {
  readonly leasehold: Leasehold;
  readonly schedules: ScheduleClient;
  readonly audit: AuditStore;
  /** Operator actions, each recorded. */
  readonly operations: Operations;
  readonly operatorStore: TableStores['operations'];
  /** Read units that these stores have used. */
  readonly spent: () => number;
}

export class ConsoleConnection implements Disposable {
  readonly options: ConnectionSettings;
  readonly runtime: Runtime;
  readonly #connection: DynamoConnection;
  readonly #total: Meter = createMeter();
  #scanned = 0;

  constructor(options: ConnectionSettings, runtime: Runtime) {
    this.options = options;
    this.runtime = runtime;
    this.#connection = connectDynamo(options, runtime);
  }

  get info(): ConnectionInfo {
    const { table, endpoint, region, isReadOnly, by } = this.options;
    const place = endpoint ?? region ?? 'the region of your credentials';
    return { table, endpoint, region, place, isReadOnly, by, isLocal: this.isLocal };
  }

  /** Whether the engine is on this machine, where reading costs nothing. */
  get isLocal(): boolean {
    return isLoopback(this.options.endpoint);
  }

  /** A client of the SDK: for reading the whole table, which the protocol never does. */
  get openClient(): DynamoConnection['openClient'] {
    return this.#connection.openClient;
  }

  /** Counts read units that were used outside of the stores. */
  spend(units: number): void {
    this.#scanned += units;
  }

  now(): number {
    return this.runtime.clock.now();
  }

  /** Read units of this console so far. */
  readUnits(): number {
    return this.#total.readUnits + this.#scanned;
  }

  open(): Stores {
    const { driver, gauge } = this.#connection;
    const { runtime } = this;
    const { table, shards, maxClockSkewMs } = this.options;
    const meter = createMeter();
    const total = this.#total;
    const observer: SendObserver = {
      onAttempt(attempt) {
        meter.onAttempt(attempt);
        total.onAttempt(attempt);
      },
    };
    const sender = new Sender({ driver, runtime, observer });
    const leasehold = new Leasehold({ sender, gauge, runtime }, { table, shards, maxClockSkew: maxClockSkewMs });
    const stores = createClientStores(sender, { table, shards });
    const audit = new AuditStore({ sender, runtime }, table);
    const operated = operatedBy(leasehold, { audit, store: stores.tasks, runtime });
    return {
      ...stores,
      operatorStore: stores.operations,
      leasehold,
      schedules: operated.schedules,
      audit,
      operations: new Operations(operated),
      spent: () => meter.readUnits,
    };
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}
