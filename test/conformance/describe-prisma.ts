import type { AdapterFactoryLike, RawClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { conformanceBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { NESTED_TRANSACTIONS } from '../prisma/adapters'
import {
  prismaBackends,
  type PrismaBackend,
  type PrismaTestDatabase,
  type TestClient,
} from '../prisma/clients'
import { describeSuites } from './describe-suites'
import { openTransaction } from './pooled-client'
import type { Observer } from './sql-environment'
import { OFFSETS } from './zone-offsets'

type Options = Readonly<Record<string, unknown>>

/** Options for sessions that have this time zone, by the names of adapters. */
const IN_ZONE: Readonly<Record<string, (zone: string) => Options>> = {
  pg: (zone) => ({ options: `-c TimeZone=${zone}` }),
  mariadb: (zone) => ({ initSql: `set time_zone = '${OFFSETS[zone] ?? zone}'` }),
}
/** At most three connections, for any adapter. Without `minimumIdle`, the adapter for MariaDB opens all of them at once. */
const POOL: Options = { max: 3, connectionLimit: 3, minimumIdle: 1, pool: { max: 3 } }

/** Adapters with a SQLite of their own, and Prisma's native engine. */
const OWN_SQLITE = /^(libsql|native)$/

interface Variant {
  readonly variant: string
  readonly wal?: true
  /** The locks use the app's pool. */
  readonly ownConnections?: 0
  /** The locks have an adapter of their own. */
  readonly hasOwnAdapter?: true
  /** Its statements are those of another backend or journal, where they are shown to keep locks. */
  readonly sqlOnly?: boolean
}

/**
 * The ways in which apps connect to a backend, where there are several. The journal is the file's, and what differs with it
 * is seen through better-sqlite3; libsql has one transaction at a time with either.
 */
function variantsOf({ name, adapter, shared }: PrismaBackend): readonly Variant[] {
  if (adapter === 'pg')
    return [{ variant: '' }, { variant: " in the app's pool", ownConnections: 0, sqlOnly: true }]
  // MySQL's adapter is that of MariaDB.
  const sqlOnly = !shared || name === 'mysql'
  if (adapter === 'mariadb' && NESTED_TRANSACTIONS)
    return [
      { variant: '', sqlOnly },
      { variant: ' with an adapter for the locks', hasOwnAdapter: true, sqlOnly },
    ]
  if (name !== 'sqlite' || OWN_SQLITE.test(adapter)) return [{ variant: '', sqlOnly }]
  return [{ variant: ' with a rollback journal' }, { variant: ' with WAL', wal: true, sqlOnly: true }]
}

/** Lets the exported suites run through Prisma. A file for some backends each, so that they run beside each other. */
export function describePrisma(isOurs: (backend: PrismaBackend) => boolean): void {
  const backends = prismaBackends(conformanceBackends()).filter(isOurs)
  const cases = backends.flatMap((backend) => variantsOf(backend).map((variant) => ({ backend, ...variant })))
  describeBackends(cases)('Prisma on $backend.name by $backend.adapter$variant', (each) => {
    const { backend, wal, sqlOnly, ownConnections, hasOwnAdapter } = each
    const { dialect, shared, adapter } = backend
    const inZone = IN_ZONE[adapter]
    let database: PrismaTestDatabase
    let client: TestClient
    let own: AdapterFactoryLike | undefined

    describeSuites<TestClient>({
      ...{ backend, wal, sqlOnly },
      provide: (prisma, rest) => prismaLockProvider(prisma, { ownConnections, adapter: own, ...rest }),
      open: async (after) => {
        // What lives in memory can only be observed by the connection itself. And two libraries must not have one SQLite file open in
        // one process: who closes it drops the locks of the other.
        // https://www.sqlite.org/howtocorrupt.html#_multiple_copies_of_sqlite_linked_into_the_same_application
        if (shared && !(dialect === 'sqlite' && OWN_SQLITE.test(adapter))) {
          const { dataSource, ...opened } = await openDatabase(backend, { enableWAL: wal }, after)
          database = opened.database
          if (hasOwnAdapter) own = await database.ownAdapter()
          return dataSource
        }
        database = await backend.create()
        after(() => database.drop())
        client = await database.connect()
        if (!shared) return observeBy(client)
        const other = await database.connect()
        await other.$queryRawUnsafe('pragma busy_timeout = 5000')
        return observeBy(other)
      },
      connect: async () => (shared ? database.connect(POOL) : client),
      ...(inZone && shared && { connectIn: (zone) => database.connect({ ...POOL, ...inZone(zone) }) }),
      begin: (prisma) => begin(prisma, dialect === 'sqlite' ? {} : { isolationLevel: 'Serializable' }),
    })
  })
}

function observeBy(client: TestClient): Observer {
  return {
    query: async <T>(sql: string, values: unknown[] = []) =>
      (await client.$queryRawUnsafe(sql, ...values)) as T,
  }
}

/** Begins a transaction that stays open until the test commits it or rolls it back. */
async function begin(prisma: TestClient, options: object) {
  const { client, ...ends } = await openTransaction<RawClientLike>((work) =>
    prisma.$transaction(work, { timeout: 60_000, ...options }),
  )
  return { ...ends, query: async (sql: string): Promise<unknown> => client.$queryRawUnsafe(sql) }
}
