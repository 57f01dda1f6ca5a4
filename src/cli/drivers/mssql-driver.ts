import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { wrongUsage, type CommandError } from '../command-error'
import { loadDriver, readUrl, withoutBrackets, type CliDriver } from './driver'

interface MsSql {
  readonly ConnectionPool: new (configuration: string | object) => {
    connect(): Promise<unknown>
    request(): {
      input(name: string, value: unknown): unknown
      query(text: string): Promise<{ recordset?: SqlRow[]; rowsAffected: number[] }>
    }
    close(): Promise<unknown>
  }
}

/** Uses mssql. */
export const mssqlDriver: CliDriver = {
  ...drivers.mssql,
  packages: ['mssql'],
  via: ['@prisma/adapter-mssql', 'typeorm'],
  placeholder: (position) => `@p${position}`,
  open: async (url) => {
    const { ConnectionPool } = loadDriver(mssqlDriver).exports as MsSql
    const pool = new ConnectionPool({ ...sqlServerOptions(url), pool: { max: 1 } })
    await pool.connect()
    return {
      query: async (text, values) => {
        const request = pool.request()
        values.forEach((value, position) => request.input(`p${position}`, value))
        const { recordset, rowsAffected } = await request.query(text)
        return { rows: recordset ?? [], changed: rowsAffected[0] ?? 0 }
      },
      close: () => pool.close(),
    }
  },
}

const PROPERTY = /;\s*([^=;]+?)\s*=\s*(?:\{(.*?)\}|((?!\{)[^;]*?))\s*(?=;|$)/gs

/** The options for mssql. @throws CommandError whose message contains nothing of the URL */
export function sqlServerOptions(url: string): object {
  const { host, port, properties } = /^\w+:\/\/[^;]*[@/]/.test(url) ? fromUrl(url) : fromProperties(url)
  const first = (...keys: string[]): string | undefined =>
    keys.map((key) => properties.get(key)).find((value) => value !== undefined)
  if (!/^(sqlpassword|notspecified)$/i.test(first('authentication') ?? 'SqlPassword'))
    throw wrongUsage(
      'With a URL, this command can authenticate only by user and password – for other ways use --data-source.',
    )
  return {
    server: host,
    port: Number(port || 1433),
    database: first('database', 'databasename', 'initial catalog'),
    user: first('user', 'username', 'uid', 'userid'),
    password: first('password', 'pwd'),
    options: {
      encrypt: !/^(false|no|danger_plaintext)$/i.test(first('encrypt') ?? ''),
      trustServerCertificate: /^(true|yes)$/i.test(first('trustservercertificate') ?? ''),
    },
  }
}

interface Address {
  readonly host: string
  readonly port: string
  /** Keyed by their names in lower case. */
  readonly properties: ReadonlyMap<string, string>
}

/** Parses `mssql://user:password@host:1433/database?encrypt=false`, the form that other databases use. */
function fromUrl(text: string): Address {
  const { hostname, port, username, password, pathname, searchParams } = readUrl(text)
  const parts = { user: username, password, database: pathname.slice(1) }
  const given = Object.entries(parts).filter(([, value]) => value !== '')
  return {
    host: withoutBrackets(hostname),
    port,
    properties: new Map([
      ...[...searchParams].map(([key, value]) => [key.toLowerCase(), value] as const),
      ...given.map(([key, value]) => [key, decodeURIComponent(value)] as const),
    ]),
  }
}

/** Parses `sqlserver://host:1433;database=…;password={…}`. A semicolon within braces is part of the value. */
function fromProperties(text: string): Address {
  const [, host = '', port = '', list = ''] = /^\w+:\/\/([^;:]*)(?::(\d+))?(;.*)?$/s.exec(text) ?? []
  const properties = new Map<string, string>()
  const rest = list.replace(PROPERTY, (_, key: string, quoted: string | undefined, plain: string) => {
    properties.set(key.toLowerCase(), quoted ?? plain)
    return ''
  })
  if (host === '' || /[^;\s]/.test(rest)) throw unreadable('write sqlserver://host:1433;password={…};…')
  return { host, port, properties }
}

function unreadable(why: string): CommandError {
  return wrongUsage(`The URL cannot be read – ${why}.`)
}
