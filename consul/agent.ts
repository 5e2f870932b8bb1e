/** `/v1/agent/self` and `/v1/status`: what clients ask to see whether anybody is there. */
import type { Endpoint, Exchange } from './exchange.ts';
import { ensure } from './tokens.ts';

/** The version of Consul whose documentation this API follows: clients decide by it what they may ask for. */
const VERSION = '1.20.0';
/** Where a leader's peers would find it; there are none, for the table is what decides. */
const LEADER = '127.0.0.1:8300';

export const agentSelf: Endpoint = ({ gateway, rights }: Exchange) => {
  ensure.nodes(rights, 'read');
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
      Member: { Name: node, Addr: '127.0.0.1', Port: 8301, Tags: { dc: datacenter, role: 'consul' }, Status: 1 },
      Meta: {},
    },
  });
};

export const statusLeader: Endpoint = () => Promise.resolve({ json: LEADER });
export const statusPeers: Endpoint = () => Promise.resolve({ json: [LEADER] });
