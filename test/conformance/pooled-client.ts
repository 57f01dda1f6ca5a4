import type { LockProvider } from '../../src/core/lock-provider'
import type { SqlLockProviderOptions } from '../../src/sql/sql-lock-provider'
import type { Backend } from '../backends'
import { promiseWithResolvers } from '../promise-with-resolvers'
import type { ClientTransaction, SqlClient } from './sql-environment'

// Used outside of Jest as well.

const POOLS = 4

/** How an ORM reaches a backend. */
export interface PooledOrm<Client> {
  readonly backend: Pick<Backend, 'name' | 'dialect' | 'shared'>
  /** Whether SQLite has a write-ahead log. */
  readonly wal?: boolean | undefined
  /** Connects as one more instance of the app does, with a few connections. */
  connect(): Promise<Client>
  /** Connects with sessions that have this time zone. */
  readonly connectIn?: ((zone: string) => Promise<Client>) | undefined
  provide(client: Client, options: SqlLockProviderOptions): LockProvider
  /** Begins a transaction, serializable where there are levels. */
  begin(client: Client): Promise<Omit<ClientTransaction, 'provider'>>
}

/** Why a lock cannot be had while a transaction of the caller is open. */
function oneAtATime({ backend: { dialect, shared }, wal }: PooledOrm<never>): string | undefined {
  if (dialect === 'spanner') return 'its emulator has one transaction at a time'
  if (!shared) return 'in memory there is one connection: a lock waits until the transaction is over'
  if (dialect === 'sqlite' && !wal)
    return 'without WAL a reader keeps out the writer: a lock waits until the transaction is over'
  return undefined
}

/** Several instances of an app, each with a pool of its own. */
export function pooledClient<Client>(orm: PooledOrm<Client>): SqlClient {
  const { connectIn } = orm
  const blocked = oneAtATime(orm as PooledOrm<never>)
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

/**
 * Opens a transaction of an ORM whose transactions end with their callback.
 *
 * @param run begins it, and ends it with what the work does
 */
export async function openTransaction<Client>(
  run: (work: (client: Client) => Promise<void>) => Promise<unknown>,
) {
  const rolledBack = new Error('rolled back')
  const begun = promiseWithResolvers<Client>()
  const ending = promiseWithResolvers<'commit' | 'rollback'>()
  const ended = run(async (client) => {
    begun.resolve(client)
    if ((await ending.promise) === 'rollback') throw rolledBack
  })
  const client = await Promise.race([begun.promise, ended.then(() => begun.promise)])
  const end = async (how: 'commit' | 'rollback'): Promise<void> => {
    ending.resolve(how)
    await ended.catch((error: unknown) => {
      if (error !== rolledBack) throw error
    })
  }
  return { client, commit: () => end('commit'), rollback: () => end('rollback') }
}
