import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { loadDriver, readUrl, withoutBrackets, type CliDriver } from './driver'

type Result = SqlRow[] | { affectedRows: number }

/** What mysql2 and mariadb have in common. */
interface MySqlConnection {
  execute(text: string, values: unknown[]): Promise<Result | [Result, unknown]>
  on(event: 'error', listener: () => void): unknown
  end(): Promise<unknown>
}

interface MySql {
  createConnection(options: object): Promise<MySqlConnection>
}

/** Uses mysql2, or mariadb, which Prisma's adapter uses. */
export const mysqlDriver: CliDriver = {
  ...drivers.mysql,
  packages: ['mysql2/promise', 'mariadb'],
  via: ['@prisma/adapter-mariadb', 'typeorm'],
  open: async (url) => {
    const { name, exports } = loadDriver(mysqlDriver)
    const connection = await (exports as MySql).createConnection(options(url, name))
    // Without a listener, a connection that breaks between two queries would end the process. The next query reports it.
    connection.on('error', () => undefined)
    return {
      query: async (text, values) => {
        const answer = await connection.execute(text, [...values])
        const result = (name === 'mariadb' ? answer : (answer as [Result, unknown])[0]) as Result
        return Array.isArray(result)
          ? { rows: result, changed: 0 }
          : { rows: [], changed: result.affectedRows }
      },
      close: () => connection.end(),
    }
  },
}

/** Options that both drivers know. Of the URL's parameters, only those for TLS and for passwords without TLS are needed here. */
function options(url: string, driver: string): object {
  const { hostname, port, username, password, pathname, searchParams } = readUrl(url)
  const tls = ['sslaccept', 'sslcert', 'ssl', 'sslmode', 'ssl-mode'].some(
    (name) => !/^(false|0|disabled?|preferred)$/i.test(searchParams.get(name) ?? 'false'),
  )
  return {
    host: withoutBrackets(hostname),
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    connectTimeout: 10_000,
    // mysql2 requests the key by itself, and warns about unknown options.
    ...(driver === 'mariadb' && {
      allowPublicKeyRetrieval: searchParams.get('allowPublicKeyRetrieval') === 'true',
    }),
    ...(tls ? { ssl: { rejectUnauthorized: searchParams.get('sslaccept') !== 'accept_invalid_certs' } } : {}),
  }
}
