import type { AdapterFactoryLike } from '../../src/prisma/prisma-client'
import { availableBackends, type Backend, type TestDatabase } from '../backends'
import { ADAPTERS, connect, type TestClient, type TestProvider } from './adapters'

export type { TestClient }

/** One way to reach a backend through Prisma. */
export interface PrismaBackend extends Omit<Backend, 'create'> {
  readonly adapter: string
  readonly provider: TestProvider
  readonly unreadable: string | undefined
  create(): Promise<PrismaTestDatabase>
}

export interface PrismaTestDatabase extends TestDatabase {
  /** An adapter that opens one connection each time, for locks alone. */
  ownAdapter(options?: object): Promise<AdapterFactoryLike>
  /** @param options for the adapter's driver or pool */
  connect(options?: Readonly<Record<string, unknown>>): Promise<TestClient>
}

export function prismaBackends(backends: readonly Backend[] = availableBackends()): PrismaBackend[] {
  return backends.flatMap((backend) =>
    ADAPTERS.filter((adapter) => adapter.backends.test(backend.name)).map((adapter) => ({
      ...backend,
      adapter: adapter.name,
      provider: adapter.provider,
      unreadable: adapter.unreadable,
      create: async () => {
        const database = await backend.create()
        const clients: TestClient[] = []
        return {
          ...database,
          ownAdapter: async (more = {}) => {
            const options = { connectionLimit: 1, adapter: { useTextProtocol: true }, ...more }
            return (await adapter.make(database.url, options)) as AdapterFactoryLike
          },
          connect: async (options = {}) => {
            const client = await connect(adapter, database.url, options)
            clients.push(client)
            return client
          },
          drop: async () => {
            await Promise.all(clients.map((client) => client.$disconnect()))
            await database.drop()
          },
        }
      },
    })),
  )
}
