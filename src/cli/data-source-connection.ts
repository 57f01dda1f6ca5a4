import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { dialects, type LockTableOptions, type Row } from '../sql'
import { CLIENT_DIALECTS, typeOrmLockProvider, type DataSourceLike } from '../typeorm'
import type { Connection } from './connection'
import { CommandError, ExitCode } from './exit-code'
import { loadModule } from './load-module'
import { oneLine } from './output'
import { hide, hideUrl } from './secrets'

/** What the command line uses of a DataSource beyond what a lock does. */
interface DataSource extends DataSourceLike {
  readonly options: DataSourceLike['options'] & { readonly url?: unknown; readonly password?: unknown }
  setOptions(options: object): unknown
  initialize(): Promise<unknown>
  destroy(): Promise<void>
  createQueryRunner(mode?: 'master' | 'slave'): ReturnType<DataSourceLike['createQueryRunner']>
}

/** Connects with the DataSource that a file exports, as TypeORM's own command line does. */
export async function connectDataSource(file: string, options: LockTableOptions): Promise<Connection> {
  const dataSource = await load(file)
  const { url, password, type } = dataSource.options
  hide(password)
  if (typeof url === 'string') hideUrl(url)
  const dialectName = CLIENT_DIALECTS[type]
  if (!dialectName)
    throw new CommandError(ExitCode.usage, `A DataSource of type '${type}' cannot keep locks.`)
  const provider = typeOrmLockProvider(dataSource, options)
  try {
    // Looking at locks must not migrate, synchronize or drop anything.
    dataSource.setOptions({
      synchronize: false,
      migrationsRun: false,
      dropSchema: false,
      subscribers: [],
      logging: false,
    })
    if (!dataSource.isInitialized) await dataSource.initialize()
  } catch (error) {
    throw new CommandError(ExitCode.database, `There is no connection to the database: ${oneLine(error)}`)
  }
  return {
    dialect: dialects[dialectName],
    provider,
    openSession: () => {
      const queryRunner = dataSource.createQueryRunner('master')
      return Promise.resolve({
        query: async (text: string) => (await queryRunner.query(text, [], true)).records as Row[],
        close: () => queryRunner.release(),
      })
    },
    close: () => dataSource.destroy(),
  }
}

async function load(file: string): Promise<DataSource> {
  const path = resolve(file)
  if (!(await stat(path).catch(() => undefined)))
    throw new CommandError(ExitCode.usage, `There is no file ${path}.`)
  let exported: object
  try {
    exported = await loadModule(path)
  } catch (error) {
    const typescript = /\.[cm]?ts$/.test(path)
      ? ' – for TypeScript run it under a loader, such as NODE_OPTIONS="--require ts-node/register" or "--import tsx"'
      : ''
    throw new CommandError(ExitCode.usage, `${path} cannot be loaded: ${oneLine(error)}${typescript}`)
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
    throw new CommandError(
      ExitCode.usage,
      `${path} exports ${found.length} DataSources – it must export one.`,
    )
  }
  return dataSource
}

function isDataSource(value: unknown): value is DataSource {
  return (value as Record<string, unknown> | null | undefined)?.['@instanceof'] === Symbol.for('DataSource')
}
