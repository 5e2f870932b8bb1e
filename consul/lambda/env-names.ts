/** Variables of the gateway's function, beside those of every function. */
export const CONSUL_ENV = {
  /** What the gateway calls its own node. */
  node: 'LEASEHOLD_CONSUL_NODE',
  /** The longest wait of its blocking queries. */
  maxWaitMs: 'LEASEHOLD_CONSUL_MAX_WAIT_MS',
  /** Who may do what there, as JSON; absent: every caller that AWS lets in may do everything. */
  tokens: 'LEASEHOLD_CONSUL_TOKENS',
} as const;
