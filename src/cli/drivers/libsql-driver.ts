import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { hide } from '../command-error'
import { describeTls, loadDriver, type CliDriver, type DriverConnection } from './driver'

/** What the command line uses of @libsql/client. */
export interface Libsql {
  readonly createClient: (options: { url: string; authToken?: string | undefined }) => {
    execute(statement: { sql: string; args: readonly (string | number | null)[] }): Promise<{
      rows: SqlRow[]
      rowsAffected: number
    }>
    close(): unknown
  }
}

/** Uses @libsql/client for a server such as Turso. */
export const libsqlDriver: CliDriver = {
  ...drivers.sqlite,
  packages: ['@libsql/client'],
  via: ['@prisma/adapter-libsql'],
  open: (url) => {
    const { exports } = loadDriver(libsqlDriver)
    const inUrl = /[?&]authToken=([^&]*)/.exec(url)?.[1]
    const authToken = inUrl ?? process.env['TURSO_AUTH_TOKEN'] ?? process.env['LIBSQL_AUTH_TOKEN']
    hide(authToken)
    return openLibsql(exports as Libsql, url, inUrl === undefined ? authToken : undefined)
  },
}

/** @param authToken unless it is in the URL */
export async function openLibsql(
  { createClient }: Libsql,
  url: string,
  authToken?: string,
): Promise<DriverConnection> {
  const client = createClient({ url, authToken })
  // It connects only now.
  await client.execute({ sql: 'select 1', args: [] })
  return {
    tls: url.startsWith('file:') ? undefined : describeTls(!/[?&]tls=0|^(http|ws):/.test(url)),
    run: async (sql, args) => {
      const { rows, rowsAffected } = await client.execute({ sql, args })
      return { rows: rows.map((row) => ({ ...row })), changed: rowsAffected }
    },
    close: () => client.close(),
  }
}
