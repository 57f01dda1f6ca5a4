import type { LockingTaskExecutor } from 'shedlock-orm'
import type { SqlLockProvider } from 'shedlock-orm/sql'
import type { DataSource } from 'typeorm'

/** What the programs of the documentation may use without making it: a reader has it in his app. */
declare global {
  const dataSource: DataSource
  const executor: LockingTaskExecutor
  const provider: SqlLockProvider
  function sendReport(signal?: AbortSignal): Promise<void>
}
