/** Rows as Consul's JSON has them. */
import { defined } from '../../shared/core/defined.ts';
import { checksOf } from '../health/bound-checks.ts';
import type { CheckRecord } from '../health/health.ts';
import { NODE_CHECK, failureOf } from '../health/health.ts';
import type { KeyEntry } from '../remote/entry.ts';
import type { LiveSession } from '../../shared/session/session-record.ts';
import { formatGoDuration } from './go-duration.ts';

const NS_PER_MS = 1_000_000;
/** Consul's name for the check of the node itself. */
export const SERF_CHECK = 'serfHealth';
const SERF_NAME = 'Serf Health Status';
const SERF_OUTPUT = 'Agent alive and reachable';

export function keyPair(facts: KeyEntry, { withValue }: { readonly withValue: boolean }): Record<string, unknown> {
  const value = Buffer.from(facts.bytes).toString('base64');
  return {
    LockIndex: facts.lockIndex,
    Key: facts.key,
    Flags: facts.flags,
    Value: withValue && value !== '' ? value : null,
    ...defined({ Session: facts.session }),
    CreateIndex: facts.createIndex,
    ModifyIndex: facts.modifyIndex,
  };
}

export function sessionEntry(session: LiveSession): Record<string, unknown> {
  // A gateway's own node needs no registration to be well: its sessions are bound to nothing, and show its check.
  const bound = session.remote === true && checksOf(session).length === 0 ? [NODE_CHECK] : checksOf(session);
  return {
    ID: session.id,
    Name: session.name,
    Node: session.node,
    LockDelay: session.lockDelayMs * NS_PER_MS,
    Behavior: session.behaviour,
    TTL: session.ttlMs === null ? '' : formatGoDuration(session.ttlMs),
    NodeChecks: bound.map((id) => (id === NODE_CHECK ? SERF_CHECK : id)),
    ServiceChecks: null,
    CreateIndex: session.createdAt,
    ModifyIndex: session.createdAt,
  };
}

/** @param judge the reader's clock and the bound on clock differences: a check whose reports have stopped is critical */
export function healthCheck(
  check: CheckRecord,
  judge: { readonly now: number; readonly maxClockSkewMs: number },
): Record<string, unknown> {
  const id = check.id === NODE_CHECK ? SERF_CHECK : check.id;
  return {
    Node: check.node,
    CheckID: id,
    Name: check.id === NODE_CHECK ? SERF_NAME : id,
    Status: failureOf(check, judge.now, judge.maxClockSkewMs) === undefined ? check.status : 'critical',
    Notes: '',
    Output: check.id === NODE_CHECK ? SERF_OUTPUT : check.note,
    ServiceID: '',
    ServiceName: '',
    ServiceTags: [],
    Type: check.ttlMs === null ? '' : 'ttl',
    Interval: '',
    Timeout: '',
    ExposedPort: 0,
    Definition: {},
    CreateIndex: check.updatedAt,
    ModifyIndex: check.updatedAt,
  };
}

export function catalogNode(name: string, address: string, datacenter: string): Record<string, unknown> {
  return {
    ID: '',
    Node: name,
    Address: address,
    Datacenter: datacenter,
    TaggedAddresses: null,
    Meta: null,
    CreateIndex: 1,
    ModifyIndex: 1,
  };
}
