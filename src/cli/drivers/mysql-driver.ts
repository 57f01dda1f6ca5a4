import { readFileSync } from 'node:fs'
import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { describeTls, loadDriver, readUrl, type CliDriver } from './driver'

type Result = SqlRow[] | { affectedRows: number }

/** What mysql2 and mariadb have in common. */
interface MySqlConnection {
  execute(text: string, values: unknown[]): Promise<Result | [Result, unknown]>
  on(event: 'error', listener: () => void): unknown
  end(): Promise<unknown>
}

interface MySql {
  readonly createConnection: (options: object) => Promise<MySqlConnection>
  /** Of mysql2, whose other one takes a callback. */
  readonly createConnectionPromise?: MySql['createConnection']
}

/** Uses mysql2, or mariadb, which Prisma's adapter uses. */
export const mysqlDriver: CliDriver = {
  ...drivers.mysql,
  packages: ['mysql2', 'mariadb'],
  via: ['@prisma/adapter-mariadb'],
  open: async (url) => {
    const { name, exports } = loadDriver(mysqlDriver)
    const given = options(url, name)
    const { createConnection, createConnectionPromise = createConnection } = exports as MySql
    const connection = await createConnectionPromise(given)
    // Without a listener, a connection that breaks between two queries would end the process. The next query reports it.
    connection.on('error', () => undefined)
    return {
      tls: describeTls(given.ssl),
      run: async (text, values) => {
        const answer = await connection.execute(text, values)
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
function options(url: string, driver: string) {
  const { hostname, port, username, password, pathname, searchParams } = readUrl(url)
  return {
    // Without the brackets of an IPv6 address.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    connectTimeout: 10_000,
    // mysql2 requests the key by itself, and warns about unknown options.
    ...(driver === 'mariadb' && {
      allowPublicKeyRetrieval: searchParams.get('allowPublicKeyRetrieval') === 'true',
    }),
    ssl: tlsOf(searchParams),
  }
}

/** TLS as a URL asks for it: mysql2's `ssl={…}`, MySQL's own `ssl-mode`, where REQUIRED checks no certificate, and Prisma's `sslaccept` and `sslcert`. */
function tlsOf(parameters: URLSearchParams): object | undefined {
  const ssl = parameters.get('ssl') ?? 'false'
  if (ssl.startsWith('{')) return JSON.parse(ssl) as object
  const mode = parameters.get('ssl-mode') ?? parameters.get('sslmode') ?? 'disabled'
  const [accept, file] = [parameters.get('sslaccept'), parameters.get('sslcert')]
  const isOff = [ssl, mode].every((value) => /^(false|0|disabled?|preferred)$/i.test(value))
  if (isOff && accept === null && file === null) return undefined
  const isUnchecked = accept === 'accept_invalid_certs' || (/^require/i.test(mode) && file === null)
  return { rejectUnauthorized: !isUnchecked, ...(file !== null && { ca: readFileSync(file) }) }
}
