import type { Server } from './server'

/** What a server says of itself. */
export interface ServerFacts {
  readonly version: string
  /** Whether its time zone tables are loaded, where it has some. */
  readonly knowsNamedZones: boolean
}

/** Asks a server for its version, and rejects if it is another product. */
export async function factsOf(server: Server, url: string): Promise<ServerFacts> {
  await server.prepare?.(url)
  // Loaded only now, because without a server nothing needs it.
  const { DataSource } = await import('typeorm')
  const dataSource = await new DataSource(server.typeOrm(url)).initialize()
  try {
    const ask = async (query: string): Promise<unknown> => {
      const [row = {}] = await dataSource.query<object[]>(query)
      return Object.values(row)[0]
    }
    const version = String(await ask(server.versionQuery))
    if (!server.product.test(version)) throw new Error(`${new URL(url).host} is ${version}`)
    const hasZones = server.dialect === 'mysql' || server.dialect === 'mariadb'
    const zone = `select convert_tz('2024-01-01', 'UTC', 'Europe/Prague') is not null as known`
    return {
      version: /\d+(\.\d+)+/.exec(version)?.[0] ?? version,
      // MySQL's number comes as text, and '0' is not true.
      knowsNamedZones: hasZones && Number(await ask(zone)) === 1,
    }
  } finally {
    await dataSource.destroy()
  }
}
