import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { MOST_PREPARED } from '../../src/drivers/sql-executor'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { observeLockTable } from '../conformance/lock-table-observer'

const backends = availableBackends().filter(({ name }) => name === 'mariadb' || name === 'mysql')

describeBackends(backends)('prepared statements on $name', (backend) => {
  let observer: DataSource
  let dataSource: DataSource

  beforeEach(async () => {
    const opened = await openDatabase(backend)
    observer = opened.dataSource
    dataSource = await opened.connect({ poolSize: 1 })
  })

  const counted = async (status: string): Promise<number> => {
    const [row] = await dataSource.query<{ Value: string }[]>(`show session status like '${status}'`)
    return Number(row?.Value)
  }
  const executeOfApp = async (): Promise<void> => {
    const queryRunner = dataSource.createQueryRunner()
    const connection = (await queryRunner.connect()) as {
      promise(): { execute(text: string): Promise<unknown> }
    }
    await connection.promise().execute('select 1')
    await queryRunner.release()
  }

  it("are bounded for each connection, locks go on without, and the app's own stay", async () => {
    await dataSource.query("set sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")
    await executeOfApp()
    const job = { name: `it's \\' ä 锁`, lockAtMostFor: '10m' }
    for (let tenant = 0; tenant < 20; tenant++) {
      const tableName = `tenant_${tenant}`
      // The driver takes a question mark for a hole where it writes literals.
      const columnNames = { lockedBy: tenant < 19 ? 'locked_by' : 'by?' }
      const table = observeLockTable(observer, backend.dialect, { tableName, columnNames })
      await table.createTable()
      const provider = typeOrmLockProvider(dataSource, { tableName, columnNames })
      for (let time = 0; time < 2; time++) {
        const before = await table.findRow(job.name)
        const slot = before && before.lockedAt + 1
        const lock = await provider.lock({ ...job, slot })
        expect(await table.isHeld(job.name)).toBe(true)
        expect(await provider.lock(job)).toBeUndefined()
        const longer = await lock?.extend('20m')
        expect(await longer?.fencingToken()).toBe((await table.findRow(job.name))?.lockedAt)
        await longer?.unlock()
        expect(await table.isHeld(job.name)).toBe(false)
      }
    }
    await executeOfApp()
    expect((await counted('Com_stmt_prepare')) - (await counted('Com_stmt_close'))).toBe(MOST_PREPARED + 1)
  })
})
