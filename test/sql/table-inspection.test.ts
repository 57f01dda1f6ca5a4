import { randomBytes } from 'node:crypto'
import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import type { DialectName } from '../../src/sql/dialect'
import type { LockTableOptions } from '../../src/sql/names'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { tableDefinition } from '../../src/sql/table/definition'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { useDatabase } from '../backends/open-database'
import { observeLockTable } from '../conformance/lock-table-observer'
import { itIf, itOn } from '../it-if'
import { allowedNames, hostileNames } from './hostile-names'
import { tableFaults } from './table-faults'

const HOUR = 3_600_000
const modify = (column: string, is: string): string[] => [
  `alter table shedlock modify ${column} ${is} not null`,
]
/** What somebody writes into a migration who has read a finding. SQLite changes no column. */
const CHANGES: Readonly<Partial<Record<DialectName, typeof modify>>> = {
  postgres: (column, is) => [
    `alter table shedlock alter ${column} type ${is}`,
    `alter table shedlock alter ${column} set not null`,
  ],
  mysql: modify,
  mariadb: modify,
}
/** What a finding says: which column, and what it must be. */
const WORDS = /(?:olumn|on) '(\w+)'.*'(\w[^']*) not null'/
const SCHEMAS = ['postgres', 'cockroachdb', 'mysql', 'mariadb']

describeBackends(availableBackends())('the check of a table on $name', (backend) => {
  const opened = useDatabase(backend)

  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await opened.dataSource.query(statement)
  }

  const migrated = async (options: LockTableOptions = {}): Promise<SqlLockProvider> => {
    await run(tableDefinition(dialects[backend.dialect], options).up)
    return typeOrmLockProvider(opened.dataSource, { ...options, lockedBy: 'tester' })
  }

  it.each(Object.entries({ default: {}, hostile: allowedNames(backend.dialect, hostileNames) }))(
    "finds nothing wrong with the migration's table, and lists who holds which lock, with %s names",
    async (_, options) => {
      const provider = await migrated(options)
      expect(await provider.table.check()).toEqual([])
      expect(await provider.table.list()).toEqual([])
      await provider.lock({ name: 'held', lockAtMostFor: '1h' })
      const free = await provider.lock({ name: 'free', lockAtMostFor: '1h' })
      await free?.unlock()

      const locks = await provider.table.list()
      expect(locks).toMatchObject([
        { name: 'free', held: false },
        { name: 'held', held: true },
      ])
      for (const { lockedBy, lockedAt, lockUntil, now, held } of locks) {
        expect(lockedBy).toMatch(/^tester\//)
        // An hour or a moment. Not exactly, because PostgreSQL reads its clock for each of the two.
        expect(lockUntil.getTime() - lockedAt.getTime() > 1_800_000).toBe(held)
        expect(lockUntil.getTime() > now.getTime()).toBe(held)
        expect(Math.abs(now.getTime() - Date.now())).toBeLessThan(60_000)
      }
    },
  )

  it.each([
    ['Java, nine hours east', 'java-host', 9 * HOUR],
    ['ours, further than any slot', 'host/1/0b4f6b0e-7a39-8d0e-9a51-1d8a6b9d7c11', 90_000],
  ] as const)('finds a row that was locked in the future: %s', async (_, lockedBy, ahead) => {
    const provider = await migrated()
    // Slots of ours may be a minute ahead.
    const slots = ['running', 'succeeded', 'unlocked'].map((name) => ({
      ...{ name, lockAtMostFor: '1h', slot: Date.now() + 50_000 },
    }))
    const [, succeeded, unlocked] = await Promise.all(slots.map((slot) => provider.lock(slot)))
    await succeeded?.unlock({ outcome: 'succeeded' })
    await unlocked?.unlock()
    const rows = observeLockTable(opened.dataSource, backend.dialect)
    const now = await rows.clock()
    const row = { name: 'job', lockUntil: now + HOUR, lockedAt: now + ahead, lockedBy }
    await rows.insertRow({ ...row, name: 'another', lockedAt: row.lockedAt - 1_000 })
    await rows.insertRow(row)
    const findings = await provider.table.check()
    const furthest = `Lock 'job' \\(and 1 more\\), .* lies in the future, ${new Date(row.lockedAt).toISOString()}, while`
    expect(findings).toMatchObject([
      {
        ...{ code: 'LOCKED_IN_FUTURE', severity: 'error' },
        message: expect.stringMatching(new RegExp(furthest)),
      },
    ])
    expect(await provider.table.overdue({ job: '1h' })).toMatchObject([{ state: 'stuck' }])
    // Its SQL moves no lease and no slot of ours, and changes nothing when it is run once more.
    const fix = findings.flatMap((finding) => finding.fix)
    await run(fix)
    expect(await provider.table.check()).toEqual([])
    const fixed = await rows.findRow('job')
    expect(fixed?.lockUntil).toEqual(row.lockUntil)
    for (const { name, slot } of slots) expect((await rows.findRow(name))?.lockedAt).toBe(slot)
    await run(fix)
    expect(await rows.findRow('job')).toEqual(fixed)
  })

  itIf(SCHEMAS.includes(backend.dialect), 'schemas')('gives SQL that makes a missing schema', async () => {
    const schema = `app_${randomBytes(6).toString('hex')}`
    const provider = typeOrmLockProvider(opened.dataSource, { schema })
    try {
      const findings = await provider.table.check()
      expect(findings).toMatchObject([{ code: 'TABLE_MISSING' }])
      await run(findings.flatMap(({ fix }) => fix))
      expect(await provider.table.check()).toEqual([])
    } finally {
      // A schema of MySQL is a database, which nothing else removes.
      if (/^m(ysql|ariadb)$/.test(backend.dialect)) await run([`drop schema ${schema}`])
    }
  })

  it('finds nothing wrong with a row that has no name', async () => {
    const provider = await migrated()
    await run(["insert into shedlock values ('', '2020-01-01 00:00:00', '2020-01-01 00:00:00', 'host')"])
    expect(await provider.table.check()).toEqual([])
  })

  itOn(backend, 'postgres')('says that the server accepts no writes, and what to look for', async () => {
    await migrated()
    const pinned = { ...opened.dataSource.options, extra: { options: '-c default_transaction_read_only=on' } }
    const readOnly = await new DataSource({ ...pinned, migrationsRun: false }).initialize()
    afterTest(() => readOnly.destroy())
    const message = expect.stringMatching(
      /refuses (insert|update) .* read-only .*default_transaction_read_only/,
    )
    const found = { code: 'REFUSED', severity: 'error', message }
    expect(await typeOrmLockProvider(readOnly).table.check()).toMatchObject([found, found])
  })

  const faults = tableFaults[backend.dialect] ?? []
  it.each(faults)('finds, and says what it must be: %s', async (_, found, make, options = {}) => {
    await run(make)
    const provider = typeOrmLockProvider(opened.dataSource, options)

    const findings = await provider.table.check()
    expect(findings.map(({ severity, code }) => `${severity}: ${code}`).join(', ')).toBe(found)
    for (const { code, message, fix } of findings) {
      await run(fix)
      if (code === 'TABLE_MISSING' || code === 'TIME_INVALID') continue
      const [, column = '', is = ''] = WORDS.exec(message) ?? []
      expect(is).not.toBe('')
      // Again and again, but its locks can be read.
      for (let time = 0; code === 'KEY_MISSING' && time < 2; time++) {
        await expect(provider.lock({ name: 'job', lockAtMostFor: 2 })).rejects.toThrow('could hold one lock')
        await expect(provider.table.create()).rejects.toThrow('could hold one lock')
        expect(await provider.table.find('job')).toBeUndefined()
      }
      const change = CHANGES[backend.dialect]
      if (!change) return
      if (code === 'COLUMN_MISSING') await run([`alter table shedlock add ${column} ${is} default '-'`])
      await run(change(column, is))
      if (code === 'KEY_MISSING') await run([`create unique index by_name on shedlock (${column})`])
    }
    expect(await provider.table.check()).toEqual([])
    const rows = await opened.dataSource.query<unknown[]>('select * from shedlock')
    expect(rows).toHaveLength(make.filter((statement) => statement.startsWith('insert')).length)
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
    expect(await provider.lock({ name: 'Job', lockAtMostFor: '1m' })).toBeDefined()
  })
})
