import type { DataSource } from 'typeorm'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { MOST_PREPARED } from '../../src/drivers/statement-names'
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

const backends = availableBackends('mariadb', 'mysql')

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

  it("are limited for each connection: locks are sent unprepared beyond that, and the app's own stay", async () => {
    await dataSource.query("set sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")
    await executeOfApp()
    for (let tenant = 0; tenant < 20; tenant++) {
      // A name with a quote is a literal, so its statements are not prepared.
      const name = tenant % 2 === 0 ? 'job' : `it's \\' ä 锁`
      const tableName = `tenant_${tenant}`
      // The driver takes a question mark for a hole where it writes literals.
      const columnNames = { lockedBy: tenant < 19 ? 'locked_by' : 'by?' }
      const table = observeLockTable(observer, backend.dialect, { tableName, columnNames })
      await table.createTable()
      const provider = typeOrmLockProvider(dataSource, { tableName, columnNames, ownConnections: 0 })
      await everyQuestion(provider, table, name)
    }
    await executeOfApp()
    expect((await counted('Com_stmt_prepare')) - (await counted('Com_stmt_close'))).toBe(MOST_PREPARED + 1)
  })

  interface Connection {
    execute: (statement: unknown, values: unknown[], done: unknown) => unknown
    query(text: string, done: unknown): unknown
    readonly _statements: { values(): Iterable<{ close(): void }> }
  }
  const refuse = "signal sqlstate 'HY000' set mysql_errno = 1461, message_text = 'refused'"

  it.each<[string, (connection: Connection) => void]>([
    [
      'that the server has forgotten',
      (connection) => {
        for (const statement of connection._statements.values()) statement.close()
      },
    ],
    [
      'that are too many for the server',
      (connection) => {
        connection.execute = (_statement, _values, done) => connection.query(refuse, done)
      },
    ],
  ])('%s are sent unprepared, with one warning', async (_, breakAll) => {
    await observeLockTable(observer, backend.dialect).createTable()
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const provider = typeOrmLockProvider(dataSource, { ownConnections: 0 })
    const job = { name: 'job', lockAtMostFor: '10m' }
    const lock = await provider.lock(job)
    await lock?.extend('20m')
    const queryRunner = dataSource.createQueryRunner()
    breakAll((await queryRunner.connect()) as Connection)
    await queryRunner.release()
    await lock?.extend('30m')
    expect(await provider.lock(job)).toBeUndefined()
    await lock?.unlock()
    await (await provider.lock(job))?.unlock()
    expect(warning.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/ unprepared from now on, because one could not be prepared: /),
    ])
    warning.mockRestore()
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
