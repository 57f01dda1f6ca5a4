import { beforeEach, expect, it, jest } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { guard } from '../../src/prisma/guard'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { lockStatementName } from '../../src/prisma/prisma-sql-client'
import { MOST_PREPARED } from '../../src/drivers/statement-names'
import { refusalOfName } from '../../src/prisma/native-code'
import { describeBackends } from '../backends'
import { migrated, openDatabase, type OpenDatabase } from '../backends/open-database'
import { everyQuestion } from '../conformance/every-question'
import { observeLockTable } from '../conformance/lock-table-observer'
import { prismaBackends, type PrismaTestDatabase, type TestClient } from './clients'

const backends = prismaBackends().filter(({ adapter, dialect }) => adapter === 'pg' && dialect === 'postgres')

// In this order: what is refused in the last one is refused for the whole process.
describeBackends(backends)('lockStatementName on $name', (backend) => {
  const job = { name: 'job', lockAtMostFor: '1m' }
  const named = { statementNameGenerator: lockStatementName }
  let opened: OpenDatabase<PrismaTestDatabase>
  let table: ReturnType<typeof observeLockTable>
  let prisma: TestClient
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const warnings = () => warn.mock.calls.map(([warning]) => warning)

  beforeEach(async () => {
    opened = await openDatabase(backend, migrated())
    table = observeLockTable(opened.dataSource, backend.dialect)
    prisma = await opened.database.connect({ max: 1, ...named })
  })

  const prepared = async (client = prisma): Promise<string[]> => {
    const rows = await client.$queryRawUnsafe('select name from pg_prepared_statements order by name')
    return (rows as { name: string }[]).map(({ name }) => name)
  }

  it('lets the server keep the statements of locks, and no others', async () => {
    const provider = prismaLockProvider(prisma)
    await everyQuestion(provider, table)
    const names = await prepared()
    expect(names.length).toBeGreaterThanOrEqual(5)
    expect(names.filter((name) => !name.startsWith('shedlock_'))).toEqual([])
    const later = Date.now() + 2000
    await (await provider.lock({ ...job, slot: later }))?.unlock()
    expect(await prepared()).toEqual(names)
    expect(lockStatementName({ sql: 'select 1' })).toBe('')
  })

  it('leaves the guard without a name', async () => {
    const pool = await opened.database.connect({ max: 3, ...named })
    const executor = new LockingTaskExecutor(prismaLockProvider(prisma))
    await executor.executeWithLock(job, () =>
      pool.$transaction(async (transaction) => {
        await guard(transaction)
        expect(await prepared(transaction as TestClient)).toEqual([])
      }),
    )
  })

  it('names no more when there is a table for each tenant, and locks go on without', async () => {
    for (let tenant = 0; tenant < 12; tenant++) {
      const tableName = `tenant_${tenant}`
      const ofTenant = observeLockTable(opened.dataSource, backend.dialect, { tableName })
      await ofTenant.createTable()
      await everyQuestion(prismaLockProvider(prisma, { tableName }), ofTenant)
    }
    const { length } = await prepared()
    expect(length).toBeGreaterThan(MOST_PREPARED / 2)
    expect(length).toBeLessThanOrEqual(MOST_PREPARED)
    expect(warnings()).toEqual([])
  })

  it('is left out when a name was refused, with one warning', async () => {
    const provider = prismaLockProvider(prisma)
    await everyQuestion(provider, table)
    await prisma.$executeRawUnsafe('discard all')
    await everyQuestion(provider, table)
    await everyQuestion(provider, table)
    expect(await prepared()).toEqual([])
    expect(warnings()).toEqual([
      expect.stringMatching(/without names from now on.*"shedlock_\w+" does not exist – /),
    ])
  })

  it('knows a name that another has used, and nothing that leaves the outcome open', async () => {
    const taken = await opened.database.connect({
      max: 1,
      statementNameGenerator: ({ sql }: { sql: string }) => (sql === 'select 1' ? 'shedlock_x' : ''),
    })
    const twoTexts = await opened.database.connect({ max: 1, statementNameGenerator: () => 'shedlock_y' })
    await taken.$executeRawUnsafe('prepare shedlock_x as select 2')
    await twoTexts.$queryRawUnsafe('/* request 1 */ select 1')
    const refusal = (client: TestClient, sql: string) =>
      client.$queryRawUnsafe(sql).then(() => 'answered', refusalOfName)
    expect(await refusal(taken, 'select 1')).toBe('prepared statement "shedlock_x" already exists')
    expect(await refusal(twoTexts, '/* request 2 */ select 1')).toMatch(/^Prepared statements must be unique/)
    expect(await refusal(taken, 'select pg_terminate_backend(pg_backend_pid())')).toBeUndefined()
  })
})
