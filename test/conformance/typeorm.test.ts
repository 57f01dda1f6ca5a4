import type { DataSource } from 'typeorm'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { conformanceBackends, describeBackends, type Backend } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { describeSuites } from './describe-suites'
import { spannerObserver } from './spanner-observer'
import { OFFSETS } from './zone-offsets'

interface Variant {
  readonly variant: string
  readonly options?: { readonly type: 'mysql' } | { readonly enableWAL: true }
  /** The locks use the app's pool. */
  readonly ownConnections?: 0
  /** Its statements are those of another backend, where they are shown to keep locks: here the client only has to take them. */
  readonly sqlOnly?: boolean
}

const ONE_POOL: Variant = { variant: " in the app's pool", ownConnections: 0, sqlOnly: true }

/** The ways in which apps connect to a backend, where there are several. */
function variantsOf({ name, shared }: Backend): readonly Variant[] {
  if (name === 'mariadb')
    return [
      { variant: '' },
      { variant: ' as type mysql', options: { type: 'mysql' }, sqlOnly: true },
      ONE_POOL,
    ]
  if (name === 'postgres' || name === 'mysql') return [{ variant: '' }, ONE_POOL]
  if (name === 'sqlite' || name === 'sqlite3')
    return [
      { variant: ' with a rollback journal' },
      { variant: ' with WAL', options: { enableWAL: true }, sqlOnly: true },
    ]
  return [{ variant: '', sqlOnly: !shared && name !== 'pglite' }]
}

/** Sets the zone of the sessions that follow on a connection, where that is a statement. */
const SET_ZONE: Readonly<Record<string, string>> = {
  mysql: 'set time_zone =',
  mariadb: 'set time_zone =',
  oracle: 'alter session set time_zone =',
}

const cases = conformanceBackends().flatMap((backend) =>
  variantsOf(backend).map((variant) => ({ backend, ...variant })),
)

describeBackends(cases)('TypeORM on $backend.name$variant', (each) => {
  const { backend, options = {}, sqlOnly, ownConnections } = each
  const { dialect, shared, knowsNamedZones } = backend
  const isPostgres = dialect === 'postgres' || dialect === 'cockroachdb'
  const hasZones = shared && (isPostgres || dialect in SET_ZONE)
  let opened: OpenDatabase

  // What lives in memory has one connection.
  const connect = async (rest: object = {}): Promise<DataSource> =>
    shared ? opened.connect({ ...options, poolSize: 3, ...rest }) : opened.dataSource
  const connectIn = async (zone: string): Promise<DataSource> => {
    if (isPostgres) return connect({ extra: { options: `-c TimeZone=${zone}` } })
    // One connection, so that what is set for it holds for all statements.
    const dataSource = await connect({ poolSize: 1 })
    const known = knowsNamedZones || dialect === 'oracle' ? zone : OFFSETS[zone]
    await dataSource.query(`${SET_ZONE[dialect] ?? ''} '${known ?? zone}'`)
    return dataSource
  }

  describeSuites<DataSource>({
    ...{ backend, wal: 'enableWAL' in options, sqlOnly, connect },
    provide: (dataSource, rest) => typeOrmLockProvider(dataSource, { ownConnections, ...rest }),
    ...(hasZones && { connectIn }),
    open: async (after) => {
      opened = await openDatabase(backend, options, after)
      return dialect === 'spanner' ? spannerObserver(opened.dataSource) : opened.dataSource
    },
    begin: async (dataSource) => {
      const queryRunner = dataSource.createQueryRunner()
      await queryRunner.startTransaction(dialect === 'sqlite' ? undefined : 'SERIALIZABLE')
      const end = async (how: 'commitTransaction' | 'rollbackTransaction'): Promise<void> => {
        await queryRunner[how]()
        await queryRunner.release()
      }
      return {
        query: (sql) => queryRunner.query(sql),
        commit: () => end('commitTransaction'),
        rollback: () => end('rollbackTransaction'),
      }
    },
  })
})
