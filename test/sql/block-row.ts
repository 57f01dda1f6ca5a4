import type { DataSource } from 'typeorm'

/** Locks the row of a lock in a transaction. @returns a function that ends the transaction */
export async function blockRow(dataSource: DataSource, name: string): Promise<() => Promise<void>> {
  const blocker = dataSource.createQueryRunner()
  await blocker.startTransaction()
  const [hint, end] = dataSource.options.type === 'mssql' ? [' with (xlock)', ''] : ['', ' for update']
  await blocker.query(`select * from shedlock${hint} where name = '${name}'${end}`)
  return async () => {
    await blocker.commitTransaction()
    await blocker.release()
  }
}
