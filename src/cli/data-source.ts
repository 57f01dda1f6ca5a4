import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LockTableOptions } from '../sql/internal'
import { dialectOfDataSource, typeOrmLockProvider, type DataSourceLike } from '../typeorm/internal'
import { hide, hideUrl, notConnected, wrongUsage } from './command-error'
import { oneLine } from './output'
import { isCommonJs } from './project'

/** What the command line uses of a DataSource beyond what a lock does. */
interface DataSource extends DataSourceLike {
  readonly options: DataSourceLike['options'] &
    ServerOptions & {
      readonly replication?: { master?: ServerOptions }
      readonly connectTimeoutMS?: unknown
      readonly extra?: { readonly connectionTimeoutMillis?: unknown }
    }
  readonly entityMetadatas: readonly EntityMetadata[]
  setOptions(options: object): unknown
  initialize(): Promise<unknown>
  destroy(): Promise<void>
}

interface ServerOptions {
  readonly url?: unknown
  readonly host?: unknown
  readonly port?: unknown
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

const noLog = (): undefined => undefined

/** Standard output is for what was asked. Options without a logger would not replace that of the file. */
const SILENT_LOGGER = {
  logQuery: noLog,
  logQueryError: noLog,
  logQuerySlow: noLog,
  logSchemaBuild: noLog,
  logMigration: noLog,
  log: noLog,
}

/** Connects with the DataSource that a file exports, as TypeORM's own command line does. */
export async function connectDataSource(file: string, options: LockTableOptions) {
  const dataSource = await load(file)
  const { replication } = dataSource.options
  const server = replication?.master ?? dataSource.options
  hide(server.password)
  if (typeof server.url === 'string') hideUrl(server.url)
  const name = dialectNameOf(dataSource)
  // Validate the options before connecting.
  typeOrmLockProvider(dataSource, options)
  try {
    // Reading locks must not migrate, synchronize or drop anything.
    dataSource.setOptions({
      synchronize: false,
      migrationsRun: false,
      dropSchema: false,
      subscribers: [],
      logger: SILENT_LOGGER,
    })
    if (!dataSource.isInitialized) await dataSource.initialize()
  } catch (error) {
    throw notConnected(oneLine(error))
  }
  const ofEntity = namesOfEntity(dataSource.entityMetadatas, options)
  const names = { ...ofEntity, ...options }
  return {
    // A pooler might refuse a named statement to the doctor.
    provider: typeOrmLockProvider(dataSource, { ...names, namedStatements: false }),
    missingLimit: missingLimit(dataSource.options),
    hasNoEntity: ofEntity === undefined,
    server: name === 'sqlite' ? undefined : hostOf(server),
    close: () => dataSource.destroy(),
  }
}

function dialectNameOf({ options }: DataSource) {
  try {
    return dialectOfDataSource(options)
  } catch (error) {
    throw wrongUsage(oneLine(error))
  }
}

/** The names that the project passed to `shedLockEntity`. Of several entities, that of the table, or the one with default names. */
function namesOfEntity(
  entities: readonly EntityMetadata[],
  { tableName: wanted }: LockTableOptions,
): LockTableOptions | undefined {
  const ours = entities.filter(({ name }) => /^ShedLock(_|$)/.test(name))
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

/** Returns the setting that is missing. Only pg has no limit of its own; TypeORM has no name for its setting on CockroachDB. */
function missingLimit({ type, connectTimeoutMS, extra }: DataSource['options']): string | undefined {
  if (connectTimeoutMS || extra?.connectionTimeoutMillis) return undefined
  return { postgres: 'connectTimeoutMS', cockroachdb: 'extra.connectionTimeoutMillis' }[type]
}

function hostOf({ url, host, port }: ServerOptions): string {
  if (typeof url === 'string' && URL.canParse(url)) return new URL(url).host
  const name = typeof host === 'string' ? host : 'localhost'
  return typeof port === 'number' ? `${name}:${port}` : name
}

async function load(file: string): Promise<DataSource> {
  const path = resolve(file)
  if (!existsSync(path)) throw wrongUsage(`There is no file ${path}.`)
  let exported: object
  try {
    exported = await loadModule(path)
  } catch (error) {
    const advice = /\.[cm]?ts$/.test(path) ? loaderAdvice(path, error) : ''
    throw wrongUsage(`${path} cannot be loaded: ${oneLine(error)}${advice}`)
  }
  const { default: main } = exported as { default?: object }
  const values: unknown[] = [
    exported, // module.exports = dataSource
    ...Object.values<unknown>({ ...exported }),
    ...Object.values<unknown>({ ...main }),
  ]
  const candidates = await Promise.all(values)
  const found = [...new Set(candidates)].filter(isDataSource)
  const [dataSource] = found
  if (!dataSource || found.length > 1) {
    throw wrongUsage(`${path} exports ${found.length} DataSources – it must export exactly one.`)
  }
  return dataSource
}

/** Packages that make Node.js load TypeScript, in its options. */
const LOADERS = /ts-node|tsx|swc|esbuild|jiti|ts-patch/

/** What may be wrong with the loading of TypeScript. If a loader has reported an error of its own, that is the reason. */
function loaderAdvice(path: string, error: unknown): string {
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ')
  const { code } = error as { code?: unknown }
  if (!LOADERS.test(options))
    return ' – TypeScript needs a loader, such as NODE_OPTIONS="--require ts-node/register" or NODE_OPTIONS="--import tsx"'
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && !isCommonJs(path))
    return ' – the loader in NODE_OPTIONS does not load ES modules: use NODE_OPTIONS="--import tsx"'
  return ''
}

function isDataSource(value: unknown): value is DataSource {
  return (value as Record<string, unknown> | null | undefined)?.['@instanceof'] === Symbol.for('DataSource')
}

/**
 * Loads a file of the project as Node.js does. Uses `require` for CommonJS, because some loaders hook only that
 * (`--require ts-node/register`).
 */
async function loadModule(path: string): Promise<object> {
  if (!isCommonJs(path)) return importModule(path)
  try {
    return createRequire(path)(path) as object
  } catch (error) {
    const { code } = error as { code?: unknown }
    // It is an ES module despite its extension or package type.
    if (code === 'ERR_REQUIRE_ESM' || code === 'ERR_REQUIRE_ASYNC_MODULE') return importModule(path)
    throw error
  }
}

async function importModule(path: string): Promise<object> {
  return (await import(pathToFileURL(path).href)) as object
}
