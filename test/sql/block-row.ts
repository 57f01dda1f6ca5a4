import type { DataSource } from 'typeorm'

/** Locks rows of locks in a transaction. @returns a function that ends the transaction */
export async function blockRow(dataSource: DataSource, ...names: string[]): Promise<() => Promise<void>> {
  const blocker = dataSource.createQueryRunner()
  await blocker.startTransaction()
  const [hint, end] = dataSource.options.type === 'mssql' ? [' with (xlock)', ''] : ['', ' for update']
  const list = names.map((name) => `'${name}'`).join(', ')
  await blocker.query(`select * from shedlock${hint} where name in (${list})${end}`)
  return async () => {
    await blocker.commitTransaction()
    await blocker.release()
  }
}
