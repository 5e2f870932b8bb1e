/** Variables of the gateway's function, in addition to the common ones. */
export const CONSUL_ENV = {
  /** Name of the gateway's own node. */
  node: 'LEASEHOLD_CONSUL_NODE',
  /** The longest wait of its blocking queries. */
  maxWaitMs: 'LEASEHOLD_CONSUL_MAX_WAIT_MS',
  /** Access rules as JSON. Without them, every caller that AWS admits may do everything. */
  tokens: 'LEASEHOLD_CONSUL_TOKENS',
} as const;
