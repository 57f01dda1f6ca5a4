import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Lock } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { DialectName } from '../../src/sql/dialect'
import type { SqlLockProvider, SqlLockProviderOptions } from '../../src/sql/sql-lock-provider'
import { eventually } from '../eventually'
import { itIf, itOn } from '../it-if'
import { lockError } from '../lock-error'

const job = { name: 'job', lockAtMostFor: '1m' }
/** What runs a statement. */
interface Queryable {
  query(sql: string): PromiseLike<unknown>
}

/** A transaction of the app. */
interface GuardedTransaction extends Queryable {
  guard(lock?: Lock): Promise<void>
}

/** Two instances of an app, which has a table `work` beside its lock table; its own queries are past all locks. */
export interface GuardedClient extends Queryable {
  createProvider(options?: SqlLockProviderOptions): SqlLockProvider
  /** Of the other instance. */
  createOther(options?: SqlLockProviderOptions): SqlLockProvider
  transaction(work: (transaction: GuardedTransaction) => Promise<unknown>, level?: string): Promise<unknown>
}

interface GuardOptions {
  readonly dialect: DialectName
  /** Whether it has several connections. */
  readonly shared: boolean
  /** Whether a successor can wait for the transaction. */
  readonly letsWait: boolean
  readonly levels: readonly string[]
  /** How a transaction fails that sees an old row at this level; `undefined`: it sees the new one. */
  readonly failure: (level: string) => object | undefined
}

const FUTURE: Partial<Record<DialectName, string>> = { oracle: "timestamp '2100-01-01 00:00:00'" }
const PAST: Partial<Record<DialectName, string>> = { oracle: "timestamp '2020-01-01 00:00:00'" }

/** What tests of the guard begin with. */
export function guardSteps(client: () => GuardedClient, dialect: DialectName) {
  /** By the clock that decides: the holder's own says so earlier, by the time that its acquisition took. */
  const untilOver = async (transaction: Queryable): Promise<void> => {
    const observer = client().createOther()
    while ((await observer.table.list()).some(({ name, held }) => name === 'job' && held)) {
      // PostgreSQL ends a pinned transaction that is idle for too long.
      await transaction.query('select 1')
      await sleep(20)
    }
  }
  return {
    work: (transaction: Queryable) => transaction.query("insert into work values ('done')"),
    worked: async () => ((await client().query('select * from work')) as unknown[]).length,
    taken: async (lockAtMostFor = 60_000): Promise<Lock> => {
      const lock = await client().createProvider().lock({ name: 'job', lockAtMostFor })
      if (!lock) throw new Error('The lock is not free.')
      return lock
    },
    steal: () => client().query("update shedlock set locked_by = 'somebody else' where name = 'job'"),
    expire: () => {
      const past = PAST[dialect] ?? "'2020-01-01 00:00:00.000'"
      return client().query(`update shedlock set lock_until = ${past} where name = 'job'`)
    },
    prolong: () => {
      const future = FUTURE[dialect] ?? "'2100-01-01 00:00:00.000'"
      return client().query(`update shedlock set lock_until = ${future} where name = 'job'`)
    },
    untilOver,
    /** Stays open beyond the lease, for long enough that a successor that is let through is seen. */
    outlast: async (transaction: Queryable, order: string[]): Promise<void> => {
      await untilOver(transaction)
      for (let turn = 0; turn < 20; turn++) {
        await transaction.query('select 1')
        await sleep(20)
      }
      order.push('still open')
    },
    whenTaken: async (): Promise<Lock> => {
      const provider = client().createOther()
      for (;;) {
        const lock = await provider.lock(job)
        if (lock) return lock
        await sleep(20)
      }
    },
    expectFree: async (): Promise<void> => {
      const provider = client().createProvider()
      await eventually(async () => expect(await provider.lock(job)).toBeDefined())
    },
  }
}

/** What the guard promises through either ORM. */
export function guardCases(client: () => GuardedClient, options: GuardOptions): void {
  const { dialect, shared, letsWait, levels, failure } = options
  const { work, worked, taken, steal, expire, prolong, outlast, whenTaken, expectFree } = guardSteps(
    client,
    dialect,
  )

  beforeEach(async () => {
    await client().query('delete from work')
    await client().query('delete from shedlock')
  })

  it('lets a transaction commit under the active lock, also when that was extended', async () => {
    const executor = new LockingTaskExecutor(client().createProvider())
    await executor.executeWithLock(job, async ({ lock }) => {
      for (let round = 0; round < 2; round++) {
        await client().transaction(async (transaction) => {
          await work(transaction)
          await transaction.guard()
        })
        await lock.extend('2m')
      }
    })
    expect(await worked()).toBe(2)
  })

  it.each([
    ['somebody else took the lock', steal],
    ['the lease is over, even if nobody took the lock', expire],
    ['the row was deleted', () => client().query('delete from shedlock')],
  ])('rolls the transaction back when %s', async (_, lose) => {
    const lock = await taken()
    await lose()
    // Inside of a task with another lock, which is not the one that is passed.
    const executor = new LockingTaskExecutor(client().createProvider())
    const run = executor.executeWithLock({ name: 'around', lockAtMostFor: '1m' }, () =>
      client().transaction(async (transaction) => {
        await work(transaction)
        await transaction.guard(lock)
      }),
    )
    await expect(run).rejects.toMatchObject({ code: 'LOCK_LOST', lockName: 'job' })
    expect(await worked()).toBe(0)
  })

  it('keeps this lock busy, but never for ever, when its own task extends it inside of the pin', async () => {
    const executor = new LockingTaskExecutor(client().createProvider({ timeLimit: '1s' }))
    await executor.executeWithLock(job, async ({ lock }) => {
      await client().transaction(async (transaction) => {
        await transaction.guard()
        await expect(lock.extend('1m')).rejects.toMatchObject({ code: 'TIMEOUT' })
      })
      await lock.extend('1m')
    })
    await expectFree()
  })

  itIf(shared, 'several connections')('does not make others wait while the lock is held', async () => {
    const lock = await taken()
    const impatient = client().createOther({ timeLimit: '10s' })
    await client().transaction(async (transaction) => {
      await transaction.guard(lock)
      await expect(impatient.lock(job)).resolves.toBeUndefined()
    })
    await lock.unlock()
  })

  itIf(letsWait, 'several connections')(
    'commits before its successor takes the lock, even if the lease ends in between',
    async () => {
      const lock = await taken(2_000)
      const order: string[] = []
      const transaction = client().transaction(async (transaction) => {
        await work(transaction)
        await transaction.guard(lock)
        await outlast(transaction, order)
      })
      await Promise.all([transaction, whenTaken().then(() => order.push('taken'))])
      expect(order).toEqual(['still open', 'taken'])
      expect(await worked()).toBe(1)
    },
  )

  itIf(letsWait && dialect !== 'sqlite', 'locks of rows')(
    'waits for the row as the app does, because an extension may have locked it for a moment',
    async () => {
      const lock = await taken()
      let guarded: Promise<unknown> | undefined
      await client().transaction(async (other) => {
        await other.query("update shedlock set locked_by = locked_by where name = 'job'")
        guarded = client().transaction((transaction) => transaction.guard(lock))
        guarded.catch(() => undefined)
        // It has reached the server when the app's own statement has.
        await client().transaction(async (transaction) => transaction.query('select 1'))
      })
      expect(await guarded).toBeUndefined()
    },
  )

  const eachLevel = levels.length > 0 ? describe.each(levels) : describe.skip.each(['any level'])
  eachLevel('under %s', (level) => {
    /** Works under the guard of the lock. @param change what happens after the snapshot */
    const guarded = (lock: Lock, change?: () => PromiseLike<unknown>) =>
      client().transaction(async (transaction) => {
        await transaction.query('select * from work')
        await work(transaction)
        await change?.()
        await transaction.guard(lock)
      }, level)
    const expectCommit = async (lock: Lock, change: () => PromiseLike<unknown>) => {
      const first = guarded(lock, change)
      const serializes = failure(level)
      if (serializes) {
        await expect(first).rejects.toMatchObject(serializes)
        await guarded(lock)
      } else {
        await first
      }
      expect(await worked()).toBe(1)
    }

    it.each([
      ['somebody else took the lock', steal],
      ['the lease ended', expire],
    ])('never commits when %s after the snapshot', async (_, lose) => {
      const lock = await taken()
      await expect(guarded(lock, lose)).rejects.toMatchObject(failure(level) ?? { code: 'LOCK_LOST' })
      expect(await worked()).toBe(0)
    })

    it('does not call the lock lost whose earlier lease is over in the snapshot', async () => {
      const lock = await taken()
      await expire()
      await expectCommit(lock, async () => prolong())
    })

    it('commits when the lock was extended after the snapshot, at the latest when it is run again', async () => {
      const lock = await taken()
      await expectCommit(lock, () => lock.extend('2m'))
    })
  })

  const isMysql = dialect === 'mysql' || dialect === 'mariadb'
  itIf(isMysql, 'a clock of the session')('is refused in a session with a clock of its own', async () => {
    const lock = await taken()
    for (const seconds of [3600, -3600]) {
      const transaction = client().transaction(async (transaction) => {
        await work(transaction)
        await transaction.query(`set timestamp = unix_timestamp() + ${seconds}`)
        try {
          await transaction.guard(lock)
        } finally {
          await transaction.query('set timestamp = default')
        }
      })
      await expect(transaction).rejects.toEqual(lockError('INVALID_CLIENT', /set timestamp/))
    }
    expect(await worked()).toBe(0)
  })

  const engines = dialect === 'mariadb' ? ['MyISAM', 'MEMORY', 'Aria'] : ['MyISAM', 'MEMORY']
  itIf(isMysql, 'engines')('is refused on a table of an engine without transactions', async () => {
    const rebuilt = (engine: string) => client().query(`alter table shedlock engine = ${engine}`)
    try {
      for (const engine of engines) {
        await rebuilt(engine)
        const lock = await taken()
        const transaction = client().transaction(async (transaction) => {
          await work(transaction)
          await transaction.guard(lock)
        })
        await expect(transaction).rejects.toEqual(lockError('TABLE_MISMATCH', engine))
        await lock.unlock()
      }
    } finally {
      await rebuilt('InnoDB')
    }
    expect(await worked()).toBe(0)
  })

  itOn(options, 'postgres')('does not let a process that went silent pin the lock', async () => {
    const lock = await taken(2_000)
    const transaction = client().transaction(async (transaction) => {
      await work(transaction)
      await transaction.guard(lock)
      await whenTaken()
    })
    await expect(transaction).rejects.toThrow()
    expect(await worked()).toBe(0)
  })

  itOn(options, 'postgres')('names no statement, as a forgotten name aborts the transaction', async () => {
    const lock = await taken()
    await client().transaction(async (transaction) => {
      await transaction.query('deallocate all')
      await transaction.guard(lock)
      expect(await transaction.query('select name from pg_prepared_statements')).toEqual([])
    })
    await lock.unlock()
  })
}
