import { drivers, type Driver, type RunStatement } from '../drivers/internal'
import type { DialectName, SqlRow } from '../sql/internal'
import { errorsOf } from './native-code'
import { PLACEHOLDERS, type RawClientLike } from './prisma-client'

/** How Prisma, or an adapter below it, writes placeholders and reports errors. */
export function driverOf(dialect: DialectName): Driver {
  const { [dialect]: driver } = drivers
  return { ...driver, placeholder: PLACEHOLDERS[dialect] ?? driver.placeholder, ...errorsOf(dialect) }
}

/**
 * Runs a statement with a raw call. Statements have no `RETURNING`, because libsql would then report no changed rows. They are
 * never sent as a batch, because Prisma puts BEGIN and COMMIT around it.
 */
export async function runRaw(
  client: RawClientLike,
  ...[text, values, , wants]: Parameters<RunStatement>
): ReturnType<RunStatement> {
  return wants === 'rows'
    ? { rows: (await client.$queryRawUnsafe(text, ...values)) as SqlRow[] }
    : { rows: [], changed: await client.$executeRawUnsafe(text, ...values) }
}
