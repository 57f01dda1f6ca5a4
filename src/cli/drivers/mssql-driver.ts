import { drivers } from '../../drivers'
import type { Row } from '../../sql'
import type { CliDriver } from './driver'
import { loadDriver } from './load-driver'

interface MsSql {
  readonly ConnectionPool: new (configuration: string | object) => {
    connect(): Promise<unknown>
    request(): {
      input(name: string, value: unknown): unknown
      query(text: string): Promise<{ recordset?: Row[]; rowsAffected: number[] }>
    }
    close(): Promise<unknown>
  }
}

/** Through mssql; the URL as Prisma has it: `sqlserver://host:1433;database=…;user=…;password=…`. */
export const mssqlDriver: CliDriver = {
  ...drivers.mssql,
  placeholder: (position) => `@p${position}`,
  open: async (url) => {
    const { ConnectionPool } = loadDriver(['mssql'], ['@prisma/adapter-mssql', 'typeorm']).exports as MsSql
    const pool = new ConnectionPool({ ...configuration(url), pool: { max: 1 } })
    await pool.connect()
    return {
      query: async (text, values) => {
        const request = pool.request()
        values.forEach((value, position) => request.input(`p${position}`, value))
        const { recordset, rowsAffected } = await request.query(text)
        return { rows: recordset ?? [], changed: rowsAffected[0] ?? 0 }
      },
      close: async () => {
        await pool.close()
      },
    }
  },
}

function configuration(url: string): object {
  const [server = '', ...parts] = url.replace(/^(sqlserver|mssql):\/\//, '').split(';')
  const [host, port] = server.split(':')
  const parameters = new Map(
    parts.map((part) => {
      const [key = '', ...value] = part.split('=')
      return [key.trim().toLowerCase(), value.join('=').replace(/^\{(.*)\}$/, '$1')]
    }),
  )
  const first = (...keys: string[]): string | undefined =>
    keys.map((key) => parameters.get(key)).find((value) => value !== undefined)
  return {
    server: host,
    port: Number(port ?? 1433),
    database: first('database', 'initial catalog'),
    user: first('user', 'username', 'uid', 'userid'),
    password: first('password', 'pwd'),
    options: {
      encrypt: first('encrypt') !== 'false',
      trustServerCertificate: first('trustservercertificate') === 'true',
    },
  }
}
