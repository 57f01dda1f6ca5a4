import { beforeEach, expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { type DialectName, dialects, tableDefinition } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { useDatabase } from '../backends/open-database'

const END = new Date('9999-12-31T23:59:59.999Z')

/** What the row then is. */
interface Shown {
  readonly held: boolean
  readonly lockUntil: Date
}
const FOR_EVER: Shown = { held: true, lockUntil: END }
const since = (time: string): Shown => ({ held: false, lockUntil: new Date(time) })

/** SQL for `lock_until`, and what is shown. */
type InvalidTime = readonly [title: string, until: string, shown: Shown]

const CALENDAR: InvalidTime = ['the end of the calendar', `'9999-12-31 23:59:59.999'`, FOR_EVER]
const NULL: InvalidTime = ['null', 'null', FOR_EVER]
const ZERO: readonly InvalidTime[] = [
  ['a zero date', `'0000-00-00 00:00:00'`, since('1970-01-01Z')],
  ['a day zero', `'2020-01-00 00:00:00'`, since('1970-01-01Z')],
  CALENDAR,
  NULL,
]
const INVALID: Readonly<Partial<Record<DialectName, readonly InvalidTime[]>>> = {
  postgres: [
    ['infinity', `'infinity'`, FOR_EVER],
    ['-infinity', `'-infinity'`, since('0001-01-01T00:00:00Z')],
    ['a year that no Date has', `'294276-01-01'`, FOR_EVER],
    CALENDAR,
    NULL,
  ],
  mssql: [CALENDAR, NULL],
  mysql: ZERO,
  mariadb: ZERO,
  sqlite: [
    ['words', `'tomorrow'`, FOR_EVER],
    ['a number', '1763000000000', since('1970-01-01Z')],
    ['bytes', `x'00ff'`, FOR_EVER],
    CALENDAR,
    NULL,
  ],
}

describeBackends(availableBackends().filter(({ dialect, name }) => dialect in INVALID && name !== 'sqljs'))(
  'a row with an invalid time on $name',
  (backend) => {
    const opened = useDatabase(backend)

    beforeEach(async () => {
      // As the migration makes it, but for the nulls.
      for (const statement of tableDefinition(dialects[backend.dialect]).up)
        await opened.dataSource.query(statement.replaceAll(/(lock\w+\W .*) not null/g, '$1 null'))
    })

    it.each(INVALID[backend.dialect] ?? [])(
      'a row with %s is listed and reported, and does not break other rows',
      async (_, until, shown) => {
        const provider = typeOrmLockProvider(opened.dataSource)
        const executor = new LockingTaskExecutor(provider)
        const findings = async () =>
          (await provider.table.check()).filter(({ code }) => code !== 'COLUMN_NULLABLE')
        expect(await findings()).toEqual([])
        // By default, MySQL and MariaDB refuse a zero date.
        const insert = ['mysql', 'mariadb'].includes(backend.dialect) ? 'insert ignore' : 'insert'
        const bad = (name: string, values: string) =>
          opened.dataSource.query(
            `${insert} into shedlock (name, lock_until, locked_at, locked_by) values ('${name}', ${values})`,
          )
        await bad('bad', `${until}, ${until}, 'java'`)
        await provider.table.pause('job', { duration: '1h', reason: 'r' })

        const record = { name: 'bad', paused: false, lockedBy: 'java', ...shown }
        expect(await provider.table.list()).toMatchObject([record, { name: 'job' }])
        expect(await provider.table.find('bad')).toMatchObject(record)
        // Null is neither past nor future, so a lock with it is neither refused nor acquired.
        if (shown.held && until !== 'null') {
          const holder = { lockedBy: 'java', lockUntil: shown.lockUntil }
          const result = await executor.executeWithLock({ name: 'bad', lockAtMostFor: '1m' }, () => 0)
          // On PostgreSQL, the statement returns no holder.
          expect({ holder, ...result }).toEqual({ executed: false, reason: 'held', holder })
        }
        expect(await provider.table.resume('bad')).toBe(false)
        expect(await provider.table.overdue({ bad: '1h' })).toHaveLength(1)
        expect(await provider.table.resume('job')).toBe(true)

        const found = await findings()
        expect(found).toContainEqual({
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
        const before = await provider.table.find('right')
        for (const { fix } of await findings())
          for (const statement of fix) await opened.dataSource.query(statement)
        expect(await findings()).toEqual([])
        expect(await provider.table.find('right')).toMatchObject({
          lockUntil: before?.lockUntil,
          lockedAt: before?.lockedAt,
        })
        expect(await provider.table.find('bad')).toMatchObject({ held: false })
        await right?.unlock()
      },
    )
  },
)
