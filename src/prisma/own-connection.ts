import { clientError, optionError } from '../core/internal'
import { opened, pg, type DriverClient, type Preparation } from '../drivers/internal'
import { adapterOf, rawClientOf, type AdapterFactoryLike, type PrismaClientLike } from './prisma-client'
import { runRaw } from './prisma-driver'

// How locks open connections beside the client's own pool.

/** The adapter of `new PrismaClient({ adapter: new PrismaPg(…) })`, whose settings are those of a pool of pg. */
interface PgAdapterLike extends AdapterFactoryLike {
  /** The pool that was passed to it. */
  readonly externalPool?: pg.PgPoolLike | null
  /** In Prisma 5, the adapter is a connection itself. */
  readonly client?: pg.PgPoolLike
}

/**
 * Returns how to open a connection; `undefined` if the client cannot: Prisma's own engine and most adapters hide their settings, and in
 * Prisma 5 the client hides its adapter.
 *
 * @param given an adapter for the locks
 */
export function openerOf(
  client: PrismaClientLike,
  preparation: Preparation,
  given?: AdapterFactoryLike,
): DriverClient['open'] {
  const adapter: PgAdapterLike | undefined = given ?? adapterOf(client)
  if (adapter?.adapterName === '@prisma/adapter-pg' && ('connect' in adapter || adapter.client))
    return pgOpener(adapter, preparation)
  return given && adapterOpener(given)
}

/** Opens connections of pg with the settings of an adapter's pool. */
function pgOpener(adapter: PgAdapterLike, preparation: Preparation): DriverClient['open'] {
  let pool: pg.PgPoolLike | undefined
  return async () => {
    pool ??= await pgPoolOf(adapter)
    return pg.openPgClient(pool, preparation)
  }
}

/** Reads the settings from a pool. One that was made for this has opened no connection, so it needs no end. */
async function pgPoolOf(adapter: PgAdapterLike): Promise<pg.PgPoolLike> {
  if (adapter.externalPool) return adapter.externalPool
  const connected = (await adapter.connect?.()) as { readonly client?: pg.PgPoolLike } | undefined
  return connected?.client ?? adapter.client ?? {}
}

/** Checks the option `adapter`. */
export function anAdapter(adapter: { readonly adapterName: string }, option: string): AdapterFactoryLike {
  if (typeof (adapter as Partial<AdapterFactoryLike> | null)?.adapterName === 'string')
    return adapter as AdapterFactoryLike
  throw optionError(option, 'a driver adapter of Prisma, such as a PrismaMariaDb')
}

function adapterOpener(adapter: AdapterFactoryLike): DriverClient['open'] {
  let isOwn = false
  return async () => {
    const connecting = adapter.connect?.() ?? Promise.reject(new Error('the adapter opens no connection'))
    const raw = connecting.then(rawClientOf)
    const close = async () => (await connecting).dispose()
    // A pool of mariadb connects only now, and asks a server that refuses it for longer than a lock waits.
    const connect = async () => {
      await (await raw).$queryRawUnsafe('select 1')
      isOwn ||= await opensItsOwn(adapter, (await connecting).underlyingDriver?.())
    }
    const { release, end } = await opened({}, connect, {
      wire: {},
      close,
      // A pool may wait for the answer that does not come.
      end: () => void close().catch(() => undefined),
    })
    return { run: async (...statement) => runRaw(await raw, ...statement), release, end }
  }
}

/** @throws LockError `INVALID_CLIENT` if the adapter lends a pool again, and so perhaps a connection with a transaction of the app */
async function opensItsOwn(adapter: AdapterFactoryLike, pool?: object): Promise<true> {
  const another = await adapter.connect?.()
  if (pool && another?.underlyingDriver?.() === pool)
    throw clientError(
      'The option adapter got an adapter over a pool of the app, whose transactions could undo a lock – pass one with settings: { adapter: new PrismaMariaDb({ …, connectionLimit: 1 }) }.',
    )
  await another?.dispose()
  return true
}
