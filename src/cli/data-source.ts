import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { LockTableOptions } from '../sql/internal'
import { dialectOfDataSource, typeOrmLockProvider, type DataSourceLike } from '../typeorm/internal'
import { hide, hideUrl, notConnected, wrongUsage } from './command-error'
import { describeTls } from './drivers/driver'
import { checkFile } from './drivers/sqlite-driver'
import { loadFile } from './module-file'
import { oneLine } from './output'

/** What the command line uses of a DataSource beyond what a lock does. */
interface DataSource extends DataSourceLike {
  readonly options: DataSourceLike['options'] &
    PasswordOptions & {
      readonly replication?: { readonly master?: PasswordOptions }
      readonly extra?: { readonly ssl?: unknown }
      readonly ssl?: unknown
    }
  readonly driver: { connect(): Promise<void> }
  readonly entityMetadatas: readonly EntityMetadata[]
  setOptions(options: object): unknown
  initialize(): Promise<unknown>
  destroy(): Promise<void>
}

interface PasswordOptions {
  readonly url?: unknown
  readonly password?: unknown
}

interface EntityMetadata {
  readonly name: string
  readonly schema?: string | undefined
  /** What TypeORM calls a schema on MySQL. */
  readonly database?: string | undefined
  readonly givenTableName?: string | undefined
  readonly columns: readonly {
    readonly propertyName: string
    readonly givenDatabaseName?: string | undefined
  }[]
}

/**
 * Connects with the DataSource that a file exports, as TypeORM's own command line does.
 *
 * @param create creates the database if it is a file
 */
export async function connectDataSource(file: string, options: LockTableOptions, create = false) {
  const dataSource = await load(file)
  const { replication } = dataSource.options
  const server = replication?.master ?? dataSource.options
  hide(server.password)
  if (typeof server.url === 'string') hideUrl(server.url)
  const isSqlite = dialectOfDataSource(dataSource.options) === 'sqlite'
  // Validates the options before connecting.
  typeOrmLockProvider(dataSource, options)
  const { database } = dataSource.options
  // Neither in memory, nor a URI.
  if (isSqlite && !create && typeof database === 'string' && !/^(:memory:|file:)/.test(database))
    checkFile(resolve(database))
  let isConnected = dataSource.isInitialized
  try {
    // Reading locks must not migrate, synchronize or drop anything.
    dataSource.setOptions({
      synchronize: false,
      migrationsRun: false,
      dropSchema: false,
      subscribers: [],
      // Prints nothing, unless the variable DEBUG asks for it. Options without a logger would not replace that of the file.
      logger: 'debug',
    })
    const { driver } = dataSource
    const connect = driver.connect.bind(driver)
    // After that, initialize() loads the entities, whose errors are not those of a connection.
    driver.connect = async () => {
      await connect()
      isConnected = true
    }
    if (!dataSource.isInitialized) await dataSource.initialize()
  } catch (error) {
    const why = oneLine(error)
    throw isConnected
      ? wrongUsage(
          `The database was reached, but the DataSource cannot be initialised: ${why} – check its entities, and the files that it names.`,
        )
      : notConnected(why, isSqlite)
  }
  const ours = dataSource.entityMetadatas.filter(({ name }) => /^ShedLock(_|$)/.test(name))
  const ofEntity = namesOfEntity(ours, options)
  return {
    // A pooler might refuse a named statement to the doctor.
    provider: typeOrmLockProvider(dataSource, { ...ofEntity, ...options, namedStatements: false }),
    through: throughOf(dataSource.options),
    isGuess: ofEntity === undefined,
    close: () => dataSource.destroy(),
  }
}

/** The names that the project passed to `shedLockEntity`. Of several entities, that of the table, or the one with default names. */
function namesOfEntity(
  ours: readonly EntityMetadata[],
  { tableName: wanted }: LockTableOptions,
): LockTableOptions | undefined {
  const isMeant = ({ name, givenTableName }: EntityMetadata) =>
    wanted === undefined ? name === 'ShedLock' : givenTableName === wanted
  const entity = ours.find(isMeant) ?? (ours.length === 1 ? ours[0] : undefined)
  if (!entity) return undefined
  const { schema, database = schema, givenTableName: tableName, columns } = entity
  const columnNames = Object.fromEntries(
    columns.map((column) => [column.propertyName, column.givenDatabaseName]),
  )
  return { schema: database, tableName, columnNames }
}

/** TypeORM passes `ssl` to these drivers; others have it elsewhere, or need none. */
function throughOf({ type, ssl, extra }: DataSource['options']): string {
  const isKnown = ['postgres', 'cockroachdb', 'mysql', 'mariadb'].includes(type)
  return `TypeORM's ${type}${isKnown ? `, ${describeTls(ssl ?? extra?.ssl)}` : ''}`
}

/** Finds a call that connects when the file is loaded. */
export const INITIALIZES = /^(?:await |void )?[\w.]+\s*\.initialize\(/m

async function load(file: string): Promise<DataSource> {
  // Before anything could switch off its migrations.
  if (existsSync(file) && INITIALIZES.test(readFileSync(file, 'utf8')))
    throw wrongUsage(
      `${file} calls initialize() when it is loaded, which may run migrations – export the DataSource from a file that does not.`,
    )
  const exported = await loadFile(file)
  const values: unknown[] = [
    exported, // module.exports = dataSource
    ...Object.values<unknown>({ ...exported }),
  ]
  const candidates = await Promise.all(values)
  const found = [...new Set(candidates)].filter(isDataSource)
  const [dataSource] = found
  if (!dataSource || found.length > 1) {
    throw wrongUsage(`${resolve(file)} exports ${found.length} DataSources – it must export exactly one.`)
  }
  return dataSource
}

function isDataSource(value: unknown): value is DataSource {
  return (value as Record<string, unknown> | null | undefined)?.['@instanceof'] === Symbol.for('DataSource')
}
