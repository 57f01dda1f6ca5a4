import { drivers, sqlClient, type Driver, type RunStatement } from '../drivers/internal'
import type { DialectName, SqlClient, SqlRow } from '../sql/internal'
import { errorsOf } from './native-code'
import { PLACEHOLDERS, type RawClientLike } from './prisma-client'

/** Calls the work with a client whose raw calls never join a transaction of the app. */
export type UseClient = <T>(work: (client: RawClientLike) => Promise<T>) => Promise<T>

/**
 * Runs each statement with a raw call. Statements have no `RETURNING`, because libsql would then report no changed rows. They are
 * never sent as a batch, because Prisma puts BEGIN and COMMIT around it.
 */
export function prismaSqlClient(dialect: DialectName, use: UseClient): SqlClient {
  return sqlClient(driverOf(dialect), (...statement) => use((client) => runRaw(client, ...statement)))
}

/** How Prisma, or an adapter below it, writes placeholders and reports errors. */
export function driverOf(dialect: DialectName): Driver {
  return { ...drivers[dialect], placeholder: placeholderOf(dialect), ...errorsOf(dialect) }
}

export async function runRaw(
  client: RawClientLike,
  ...[text, values, , wants]: Parameters<RunStatement>
): ReturnType<RunStatement> {
  return wants === 'rows'
    ? { rows: (await client.$queryRawUnsafe(text, ...values)) as SqlRow[] }
    : { rows: [], changed: await client.$executeRawUnsafe(text, ...values) }
}

export function placeholderOf(dialect: DialectName): Driver['placeholder'] {
  return PLACEHOLDERS[dialect] ?? drivers[dialect].placeholder
}
