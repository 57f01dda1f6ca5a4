import type { AdapterFactoryLike, AdapterQuery, RawClientLike } from './prisma-client-like'

/** A connection beside the one of the client. */
export interface SecondConnection extends RawClientLike {
  dispose(): Promise<void>
}

/** Opens the client's file once more; gives nothing when its adapter opens something else. */
export async function secondConnection(
  adapter: AdapterFactoryLike,
  file: string,
): Promise<SecondConnection | undefined> {
  const connection = await adapter.connect()
  const query = (sql: string, args: unknown[]): AdapterQuery => ({
    sql,
    args,
    argTypes: args.map(() => ({ scalarType: 'unknown', arity: 'scalar' })),
  })
  const second: SecondConnection = {
    dispose: () => connection.dispose(),
    $executeRawUnsafe: (text, ...values) => connection.executeRaw(query(text, values)),
    $queryRawUnsafe: async (text, ...values) => {
      const { columnNames, rows } = await connection.queryRaw(query(text, values))
      return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])))
    },
  }
  if ((await fileOf(second)) !== file) {
    await connection.dispose()
    return undefined
  }
  // better-sqlite3 is synchronous: a positive one would freeze the event loop while the app itself holds the write lock.
  await second.$executeRawUnsafe('pragma busy_timeout = 0')
  return second
}

/** The file under a client; empty for what lives in memory. */
export async function fileOf(client: RawClientLike): Promise<string> {
  const rows = await client.$queryRawUnsafe("select file from pragma_database_list where name = 'main'")
  return (rows as { file: string }[])[0]?.file ?? ''
}
