import type { DataSource } from 'typeorm'
import type { DialectName } from '../../src/sql/dialect'

/** Settings of a session and their values, in the words of the database. */
export type SessionSettings = Readonly<Record<string, string | number>>

const isMySqlLike = (dialect: DialectName): boolean => dialect === 'mysql' || dialect === 'mariadb'

function setStatement(settings: SessionSettings): string {
  const assignments = Object.entries(settings).map(
    ([name, value]) => `session ${name} = ${typeof value === 'number' ? value : `'${value}'`}`,
  )
  return `set ${assignments.join(', ')}`
}

/** What libpq calls `options`: the server reads it when a session begins. */
function startOptions(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

export function typeOrmSettings(dialect: DialectName, settings: SessionSettings): object {
  if (Object.keys(settings).length === 0 || isMySqlLike(dialect)) return {}
  return { extra: { options: startOptions(settings) } }
}

export function prismaSettings(dialect: DialectName, settings: SessionSettings): object {
  if (Object.keys(settings).length === 0) return {}
  return isMySqlLike(dialect) ? { initSql: setStatement(settings) } : { options: startOptions(settings) }
}

/** Driver options for MySQL with which a statement counts the rows that it changes. By default it counts those that it finds. */
export const COUNT_CHANGED_ROWS = {
  TypeORM: { extra: { flags: ['-FOUND_ROWS'] } },
  Prisma: { foundRows: false },
} as const

interface MySqlPool {
  getConnection(done: (error: unknown, connection: MySqlConnection) => void): void
  on(event: 'connection', listener: (connection: MySqlConnection) => void): void
}
interface MySqlConnection {
  query(text: string): unknown
  release(): void
}

/** mysql2 runs statements in order, so this one comes first on each connection. */
export function onEachConnection(
  dataSource: DataSource,
  dialect: DialectName,
  settings: SessionSettings,
): void {
  if (!isMySqlLike(dialect) || Object.keys(settings).length === 0) return
  const { pool } = dataSource.driver as unknown as { pool: MySqlPool }
  const set = (connection: MySqlConnection): void => void connection.query(setStatement(settings))
  pool.on('connection', set)
  // TypeORM has opened one already, to see whether it can.
  pool.getConnection((_error, connection) => {
    set(connection)
    connection.release()
  })
}
