import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import { dialects } from '../../src/sql/dialects'
import { tableSql } from '../../src/sql/names'
import type { SqlRow } from '../../src/sql/session'
import { lockStatements } from '../../src/sql/statements'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { senderOf } from '../statement-sender'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { everyQuestion } from '../conformance/every-question'
import { observeLockTable } from '../conformance/lock-table-observer'

const backends = availableBackends().filter(({ name }) => name === 'mariadb' || name === 'mysql')

describeBackends(backends)('the statements on $name', (backend) => {
  let observer: DataSource
  let dataSource: DataSource

  beforeEach(async () => {
    const opened = await openDatabase(backend)
    observer = opened.dataSource
    dataSource = await opened.connect({ poolSize: 1 })
  })

  it('are one request each on a new connection, whatever a name contains and the session reads', async () => {
    const counted = async (status: string): Promise<number> => {
      const [row] = await dataSource.query<{ Value: string }[]>(`show session status like '${status}'`)
      return Number(row?.Value)
    }
    await dataSource.query("set sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")
    const prepared = await counted('Com_stmt_prepare')
    for (const name of ['job', `it's \\' ä 锁`]) {
      const tableName = `table_${name.length}`
      // The driver takes a question mark for a hole where it writes values.
      const columnNames = { lockedBy: 'by?' }
      const table = observeLockTable(observer, backend.dialect, { tableName, columnNames })
      await table.createTable()
      const provider = typeOrmLockProvider(dataSource, { tableName, columnNames, ownConnections: 0 })
      await everyQuestion(provider, table, name)
    }
    expect(await counted('Com_stmt_prepare')).toBe(prepared)
  })

  it.each([
    ['utf8mb4 collate utf8mb4_bin', '报告'],
    ['utf8mb4 collate utf8mb4_unicode_ci', '报告'],
    ['utf8mb3', '报告'],
    ['gbk', '报告'],
    ['latin1', 'Größe'],
  ])('find the row by its key if the column of the name is in %s', async (characterSet, wide) => {
    const time = 'datetime(3) not null'
    await observer.query(
      `create table shedlock (name varchar(64) character set ${characterSet} primary key, lock_until ${time}, locked_at ${time}, locked_by varchar(255) not null)`,
    )
    const others = Array.from({ length: 300 }, (_, number) => `job ${number}`)
    const rows = [...others, wide].map((name) => `('${name}', '2099-01-01', '2024-01-01', 'others')`)
    await observer.query(`insert into shedlock values ${rows.join()}`)
    const explained = senderOf(
      sqlClient(drivers[backend.dialect], async (text, values) => {
        // MariaDB's settings for the statement come first.
        const explain = text.replace(/^(\/\*.*?\*\/ )?/, '$1explain format=traditional ')
        const rows: SqlRow[] = await observer.query(explain, values)
        return { rows, changed: 0 }
      }),
    )
    const { acquire, acquireSlot, extend, release, find } = lockStatements(
      dialects[backend.dialect],
      tableSql(dialects[backend.dialect]),
    )
    const steps = [...acquire, ...acquireSlot].map(({ statement }) => statement)
    const withName = [...steps, extend, release, find].filter(
      ({ pieces }) => !/^ ?insert/.test(String(pieces[0])),
    )
    expect(withName).toHaveLength(9)
    for (const name of [wide, 'job 7'])
      for (const statement of withName) {
        const values = { name, lockedBy: 'me', lockAtMostFor: 1, slot: 1, unlockedBy: 'me', keepFor: 0 }
        const plan = await explained.query(statement, values)
        const ofTable = plan.filter(({ table }) => table === 'shedlock')
        expect(ofTable.map(({ key, rows }) => [key, Number(rows)])).toEqual([['PRIMARY', 1]])
      }
  })
})
