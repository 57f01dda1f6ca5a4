/** One thing that is measured. All operations of one `scenario` on one database are compared with its floor. */
export interface Operation {
  readonly scenario: Scenario
  /** `floor`, `ours: TypeORM`, `verrou`, … */
  readonly who: string
  run(): Promise<unknown>
}

export type Scenario =
  'read one row' | 'write one row' | 'win + release' | 'lose' | 'extend' | 'run an empty task'

export interface Target {
  readonly database: string
  readonly operations: readonly Operation[]
  close(): Promise<void>
}
