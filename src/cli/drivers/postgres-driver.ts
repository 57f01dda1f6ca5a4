import { drivers, pg, Preparation } from '../../drivers/internal'
import { describeTls, loadDriver, type CliDriver } from './driver'

interface Pg {
  readonly Client: new (options: object) => pg.PgClientLike & { readonly ssl?: unknown }
}

/** Uses pg. */
export const postgresDriver: CliDriver = {
  ...drivers.postgres,
  packages: ['pg'],
  via: ['@prisma/adapter-pg'],
  open: async (url) => {
    const { Client } = loadDriver(postgresDriver).exports as Pg
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: 10_000,
      application_name: 'shedlock',
    })
    // Without a listener, a connection that breaks between two queries would end the process. The next query reports it.
    client.on?.('error', () => undefined)
    await client.connect?.()
    return {
      tls: describeTls(client.ssl),
      run: pg.runOnPg.bind(undefined, client, new Preparation(false)),
      close: () => client.end?.(),
    }
  },
}
