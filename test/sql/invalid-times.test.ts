import { DataSource } from 'typeorm'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import type { LockOptions } from '../../src/core'
import { executeOnce, type DialectName } from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'

const END = new Date('9999-12-31T23:59:59.999Z')
const FOR_EVER = { held: true, lockUntil: END }

interface InvalidTime {
  readonly title: string
  /** SQL for `lock_until`, and what the row then is. */
  readonly until: string
  readonly shown: { readonly held: boolean; readonly lockUntil: Date }
}

const at = (time: string): Date => new Date(time)
const NULL: InvalidTime = { title: 'null', until: 'null', shown: FOR_EVER }
const ZERO: InvalidTime[] = [
  {
    title: 'a zero date',
    until: `'0000-00-00 00:00:00'`,
    shown: { held: false, lockUntil: at('1970-01-01Z') },
  },
  {
    title: 'a day zero',
    until: `'2020-01-00 00:00:00'`,
    shown: { held: false, lockUntil: at('1970-01-01Z') },
  },
  { title: 'the end of the calendar', until: `'9999-12-31 23:59:59.999'`, shown: FOR_EVER },
  NULL,
]
const INVALID: Readonly<Partial<Record<DialectName, readonly InvalidTime[]>>> = {
  postgres: [
    { title: 'infinity', until: `'infinity'`, shown: FOR_EVER },
    {
      title: '-infinity',
      until: `'-infinity'`,
      shown: { held: false, lockUntil: at('0001-01-01T00:00:00Z') },
    },
    { title: 'a year that no Date has', until: `'294276-01-01'`, shown: FOR_EVER },
    {
      title: 'a year before Christ',
      until: `'4713-01-01 BC'`,
      shown: { held: false, lockUntil: at('0001-01-01T00:00:00Z') },
    },
    NULL,
  ],
  mssql: [{ title: 'the end of the calendar', until: `'9999-12-31 23:59:59.999'`, shown: FOR_EVER }, NULL],
  mysql: ZERO,
  mariadb: ZERO,
  sqlite: [
    { title: 'words', until: `'tomorrow'`, shown: FOR_EVER },
    { title: 'another number', until: '1e300', shown: { held: false, lockUntil: at('1970-01-01Z') } },
    { title: 'milliseconds', until: '1763000000000', shown: { held: false, lockUntil: at('1970-01-01Z') } },
    { title: 'an empty text', until: `''`, shown: { held: false, lockUntil: at('1970-01-01Z') } },
    { title: 'bytes', until: `x'00ff'`, shown: FOR_EVER },
    NULL,
  ],
}
/** As our migrations make them, but for the nulls. */
const TIME: Readonly<Partial<Record<DialectName, string>>> = {
  postgres: 'timestamp(3)',
  mssql: 'datetime2(3)',
}
const UTF8MB4 = 'character set utf8mb4 collate utf8mb4_bin'
const BINARY: Readonly<Partial<Record<DialectName, string>>> = {
  mysql: UTF8MB4,
  mariadb: UTF8MB4,
  mssql: 'collate Latin1_General_100_BIN2',
}

describeBackends(availableBackends().filter(({ dialect }) => dialect in INVALID))('on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource

  beforeEach(async () => {
    database = await backend.create()
    dataSource = await new DataSource(database.typeOrm).initialize()
    const type = TIME[backend.dialect] ?? 'datetime(3)'
    const text = backend.dialect === 'mssql' ? 'nvarchar' : 'varchar'
    const binary = BINARY[backend.dialect] ?? ''
    await dataSource.query(
      `create table shedlock (name ${text}(64) ${binary} not null primary key, lock_until ${type} null, locked_at ${type} null, locked_by ${text}(255) null)`,
    )
  })

  afterEach(async () => {
    await dataSource.destroy()
    await database.drop()
  })

  it.each(INVALID[backend.dialect] ?? [])(
    'a row with $title is listed, told, and breaks no other',
    async (invalid) => {
      const { until, shown } = invalid
      const provider = typeOrmLockProvider(dataSource)
      const findings = async () =>
        (await provider.checkTable()).filter(({ code }) => code !== 'COLUMN_NULLABLE')
      expect(await findings()).toEqual([])
      // MySQL and MariaDB refuse a zero date, unless they are told not to.
      const insert = ['mysql', 'mariadb'].includes(backend.dialect) ? 'insert ignore' : 'insert'
      const bad = (name: string, values: string) =>
        dataSource.query(
          `${insert} into shedlock (name, lock_until, locked_at, locked_by) values ('${name}', ${values})`,
        )
      await bad('bad', `${until}, ${until}, null`)
      await provider.pauseLock('job', { for: '1h', reason: 'r' })

      const record = { name: 'bad', paused: false, lockedBy: '', ...shown }
      expect(await provider.listLocks()).toMatchObject([record, { name: 'job' }])
      expect(await provider.findLock('bad')).toMatchObject(record)
      expect(await provider.resumeLock('bad')).toBe(false)
      const onRefused = jest.fn<NonNullable<LockOptions['onRefused']>>()
      if (shown.held && invalid !== NULL) {
        expect(await provider.lock({ name: 'bad', lockAtMostFor: '1m' }, { onRefused })).toBeUndefined()
        const holder = onRefused.mock.calls[0]?.[1] ?? shown
        expect(holder.lockUntil).toEqual(END)
      }
      expect(await provider.overdueLocks({ bad: '1h' })).toHaveLength(1)
      expect(await provider.resumeLock('job')).toBe(true)
      const once = { name: 'once', slot: Date.now() }
      expect((await executeOnce(provider, once, () => undefined)).executed).toBe(true)
      expect((await executeOnce(provider, once, () => undefined)).executed).toBe(false)

      const told = await findings()
      expect(told).toContainEqual({
        code: 'TIME_INVALID',
        severity: shown.held ? 'error' : 'warning',
        message: expect.stringMatching(
          shown.held ? /^Lock 'bad' is held for ever: 'lock_until'/ : /^Lock 'bad' has a value/,
        ),
        fix: [expect.stringMatching(/^update/), expect.stringMatching(/^update/)],
      })
      // A row that is held for ever comes first.
      await bad('worse', 'null, null, null')
      expect((await findings()).find(({ code }) => code === 'TIME_INVALID')?.message).toMatch(
        shown.held ? /^Lock 'bad' \(and 1 more\) is held for ever/ : /^Lock 'worse' is held for ever/,
      )
      // What is right stays as it was.
      const right = await provider.lock({ name: 'right', lockAtMostFor: '1h' })
      const before = await provider.findLock('right')
      for (const { fix } of await findings()) for (const statement of fix) await dataSource.query(statement)
      expect(await findings()).toEqual([])
      expect(await provider.findLock('right')).toMatchObject({
        lockUntil: before?.lockUntil,
        lockedAt: before?.lockedAt,
      })
      expect(await provider.findLock('bad')).toMatchObject({ held: false })
      await right?.unlock()
    },
  )
})
