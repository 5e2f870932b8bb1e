/** `/v1/agent/self` and `/v1/status`: what clients ask to see whether a server answers. */
import type { Endpoint, Exchange } from './exchange.ts';
import type { Gateway } from './gateway.ts';

/** The version of Consul whose documentation this API follows: clients decide by it what they may ask for. */
const VERSION = '1.20.6';
/** The address of the gateway's own node. */
export const OWN_ADDRESS = '127.0.0.1';
/** The address of a leader's peers. There are none, because the table decides. */
const LEADER = '127.0.0.1:8300';

export const agentSelf: Endpoint = ({ gateway, rights }: Exchange) => {
  rights.ensure('nodes', 'read');
  const { node, datacenter } = gateway.settings;
  return Promise.resolve({
    json: {
      Config: {
        Datacenter: datacenter,
        NodeName: node,
        NodeID: '',
        Revision: 'leasehold',
        Server: true,
        Version: VERSION,
      },
      Member: memberOf(gateway),
      Meta: {},
    },
  });
};

/** Gateways do not know each other: each is alone in its cluster. */
export const agentMembers: Endpoint = ({ gateway, rights }: Exchange) => {
  rights.ensure('nodes', 'read');
  return Promise.resolve({ json: [memberOf(gateway)] });
};

function memberOf({ settings }: Gateway): Record<string, unknown> {
  const { node, datacenter } = settings;
  return { Name: node, Addr: OWN_ADDRESS, Port: 8301, Tags: { dc: datacenter, role: 'consul' }, Status: 1 };
}

export const statusLeader: Endpoint = () => Promise.resolve({ json: LEADER });
export const statusPeers: Endpoint = () => Promise.resolve({ json: [LEADER] });
