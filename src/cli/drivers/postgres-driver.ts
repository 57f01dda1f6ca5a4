import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { describeTls, loadDriver, type CliDriver } from './driver'

interface Pg {
  readonly Client: new (options: object) => {
    connect(): Promise<unknown>
    query(text: string, values: unknown[]): Promise<{ rows: SqlRow[]; rowCount: number | null }>
    on(event: 'error', listener: () => void): unknown
    end(): Promise<unknown>
    readonly ssl: unknown
  }
}

/** Uses pg. */
export const postgresDriver: CliDriver = {
  ...drivers.postgres,
  packages: ['pg'],
  via: ['@prisma/adapter-pg', 'typeorm'],
  open: async (url) => {
    const { Client } = loadDriver(postgresDriver).exports as Pg
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: 10_000,
      application_name: 'shedlock',
    })
    // Without a listener, a connection that breaks between two queries would end the process. The next query reports it.
    client.on('error', () => undefined)
    await client.connect()
    return {
      tls: describeTls(client.ssl),
      query: async (text, values) => {
        const { rows, rowCount } = await client.query(text, [...values])
        return { rows, changed: rowCount ?? 0 }
      },
      close: () => client.end(),
    }
  },
}
