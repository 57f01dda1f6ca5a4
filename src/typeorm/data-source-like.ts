/** What this library uses of TypeORM's `DataSource`, 0.3 and 1.x. A type test proves that the real ones fit. */
export interface DataSourceLike {
  readonly isInitialized: boolean
  readonly options: { readonly type: string; readonly database?: unknown }
  readonly driver: unknown
  createQueryRunner(mode?: 'master' | 'slave'): QueryRunnerLike
}

/** What this library uses of TypeORM's `QueryRunner`. */
export interface QueryRunnerLike {
  query(query: string, parameters: unknown[] | undefined, useStructuredResult: true): Promise<QueryResultLike>
  release(): Promise<void>
}

export interface QueryResultLike {
  /** How many rows were changed, whatever the driver calls it. */
  affected?: number | undefined
  records: unknown[]
}
