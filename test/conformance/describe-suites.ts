import { beforeAll, describe } from '@jest/globals'
import type { LockProvider } from '../../src/core/lock-provider'
import type { SqlLockProviderOptions } from '../../src/sql/sql-lock-provider'
import { lockProviderSuite } from '../../src/testing/lock-provider-suite'
import { afterBlock, type afterTest } from '../after-test'
import type { Backend } from '../backends'
import { register, registerOn } from './register'
import {
  createAppTables,
  sqlEnvironment,
  type ClientTransaction,
  type Observer,
  type SqlClient,
} from './sql-environment'
import { sqlLockProviderSuite, type SqlSuiteCase } from './sql-lock-provider-suite'

const POOLS = 4

/** How one ORM reaches one backend. */
export interface Orm<Client> {
  readonly backend: Pick<Backend, 'name' | 'dialect' | 'shared'>
  /** Whether SQLite has a write-ahead log. */
  readonly wal: boolean
  /** Whether only those cases are run that are about SQL: another client or backend shows that these statements keep locks. */
  readonly sqlOnly?: boolean | undefined
  /** Makes the database. @returns what looks past the locks */
  open(after: typeof afterTest): Promise<Observer>
  /** Connects as one more instance of the app does, with a few connections. */
  connect(): Promise<Client>
  /** Connects with sessions that have this time zone. */
  readonly connectIn?: ((zone: string) => Promise<Client>) | undefined
  provide(client: Client, options: SqlLockProviderOptions): LockProvider
  /** Begins a transaction, serializable where there are levels. */
  begin(client: Client): Promise<Omit<ClientTransaction, 'provider'>>
}

/** Runs the exported suites through an ORM. Call it in a `describe`. */
export function describeSuites<Client>(orm: Orm<Client>): void {
  const { backend, sqlOnly } = orm
  let observer: Observer
  const environment = sqlEnvironment(
    { query: (...sql) => observer.query(...sql) },
    backend.dialect,
    sqlClient(orm),
  )
  const after = afterBlock()
  beforeAll(async () => {
    observer = await orm.open(after)
    await createAppTables(observer)
    await environment.createTable()
  })

  if (!sqlOnly)
    describe('as any lock provider', () => {
      lockProviderSuite(environment).map(seenOn(backend.name)).forEach(registerOn(backend.name))
    })
  describe('as a lock provider in SQL', () => {
    sqlLockProviderSuite(environment).map(seenOn(backend.name)).forEach(register)
  })
}

/** What a stand-in for the real server cannot show. */
function seenOn(backend: string): (one: SqlSuiteCase) => SqlSuiteCase {
  return (one) =>
    backend === 'spanner' && /eight workers|never loses/.test(one.title)
      ? { ...one, skip: 'its emulator aborts all transactions but one' }
      : one
}

/** Why a lock cannot be had while a transaction of the caller is open. */
function oneAtATime({ backend: { dialect, shared }, wal }: Orm<never>): string | undefined {
  if (dialect === 'spanner') return 'its emulator has one transaction at a time'
  if (!shared) return 'in memory there is one connection: a lock waits until the transaction is over'
  if (dialect === 'sqlite' && !wal)
    return 'without WAL a reader keeps out the writer: a lock waits until the transaction is over'
  return undefined
}

/** Several instances of an app, each with a pool of its own. */
function sqlClient<Client>(orm: Orm<Client>): SqlClient {
  const { connectIn } = orm
  const blocked = oneAtATime(orm as Orm<never>)
  const oneWriter =
    orm.backend.dialect === 'sqlite'
      ? 'SQLite has one writer: until the transaction ends, no lock can be written'
      : undefined
  const pools: Promise<Client>[] = []
  const idle: Client[] = []
  const inZones = new Map<string, Promise<Client>>()
  let turn = 0
  return {
    reasons: {
      ...(!connectIn && { createProviderInTimeZone: 'no time zone of a session can be set' }),
      ...(oneWriter && { beginWritingTransaction: oneWriter }),
      ...(blocked && { beginTransaction: blocked, beginWritingTransaction: blocked }),
    },
    createProvider: async (options) => orm.provide(await (pools[turn++ % POOLS] ??= orm.connect()), options),
    ...(connectIn && {
      createProviderInTimeZone: async (options, zone) => {
        const client = inZones.get(zone) ?? connectIn(zone)
        inZones.set(zone, client)
        return orm.provide(await client, options)
      },
    }),
    beginTransaction: async (options) => {
      const client = idle.pop() ?? (await orm.connect())
      const transaction = await orm.begin(client)
      const end = async (how: 'commit' | 'rollback'): Promise<void> => {
        await transaction[how]()
        idle.push(client)
      }
      return {
        ...transaction,
        provider: orm.provide(client, options),
        commit: () => end('commit'),
        rollback: () => end('rollback'),
      }
    },
  }
}
