/** Options that every command has. */
export interface GlobalOptions {
  readonly table: string;
  readonly endpoint?: string;
  readonly allowHttp?: boolean;
  readonly region?: string;
  readonly json?: boolean;
  readonly maxClockSkew: number;
}

export interface ConnectOptions {
  /** Whether reads at about the same time share a request. */
  readonly gathers?: boolean;
}
