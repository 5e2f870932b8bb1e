/** Options that every command has. */
export interface GlobalOptions {
  readonly table: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly json?: boolean;
  readonly maxClockSkew: number;
}

export interface ConnectOptions {
  /** Whether reads that are asked for at about the same moment share a request. */
  readonly gathers?: boolean;
}
