import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { wrongUsage } from '../command-error'
import { describeTls, loadDriver, type CliDriver } from './driver'

interface Configuration {
  readonly options: { readonly encrypt?: boolean; readonly trustServerCertificate?: boolean }
}

interface MsSql {
  readonly ConnectionPool: {
    new (configuration: object): {
      connect(): Promise<unknown>
      request(): {
        input(name: string, value: unknown): unknown
        query(text: string): Promise<{ recordset?: SqlRow[]; rowsAffected: number[] }>
      }
      close(): Promise<unknown>
    }
    parseConnectionString(text: string): Configuration
  }
}

const UNREADABLE =
  'The URL cannot be read – write sqlserver://host:1433;database=…;user=…;password={…};…, or use --data-source.'

/** Uses mssql. */
export const mssqlDriver: CliDriver = {
  ...drivers.mssql,
  packages: ['mssql'],
  via: ['@prisma/adapter-mssql'],
  placeholder: (position) => `@p${position}`,
  open: async (url) => {
    const text = connectionString(url)
    const { ConnectionPool } = loadDriver(mssqlDriver).exports as MsSql
    const configuration = read(ConnectionPool, text)
    const { encrypt = true, trustServerCertificate } = configuration.options
    const pool = new ConnectionPool({ ...configuration, pool: { max: 1 } })
    await pool.connect()
    return {
      tls: describeTls(encrypt && { rejectUnauthorized: !trustServerCertificate }),
      run: async (text, values) => {
        const request = pool.request()
        values.forEach((value, position) => request.input(`p${position}`, value))
        const { recordset, rowsAffected } = await request.query(text)
        return { rows: recordset ?? [], changed: rowsAffected[0] ?? 0 }
      },
      close: () => pool.close(),
    }
  },
}

/**
 * Translates `sqlserver://host:1433;database=…;user=…;password={…}`, the URL of Prisma, into a connection string of SQL Server.
 *
 * @throws CommandError whose message contains nothing of the URL
 */
export function connectionString(url: string): string {
  const [, host, port = '1433', properties = ''] = /^\w+:\/\/([^;:/@\s]+)(?::(\d+))?(;.*)?$/s.exec(url) ?? []
  if (host === undefined) throw wrongUsage(UNREADABLE)
  const names = properties
    .replace(/;\s*(user|username|userid)\s*=/gi, ';User Id=')
    .replace(/;\s*databasename\s*=/gi, ';Database=')
  return `Server=${host},${port}${names}`
}

function read(ConnectionPool: MsSql['ConnectionPool'], text: string): Configuration {
  try {
    return ConnectionPool.parseConnectionString(text)
  } catch {
    throw wrongUsage(UNREADABLE)
  }
}
