import { sqlClient } from '../../src/drivers/sql-client'
import { adapterOf, type PrismaClientLike } from '../../src/prisma/prisma-client'
import type { DialectName } from '../../src/sql/dialect'
import type { SqlClient } from '../../src/sql/session'
import type { DataSourceLike } from '../../src/typeorm/data-source-like'
import { driverOf, runRaw } from '../../src/prisma/prisma-driver'
import { sqliteOpener } from '../../src/prisma/sqlite-client'
import { queryRunnerClient } from '../../src/typeorm/query-runner-client'
import { sqliteClient } from '../../src/typeorm/sqlite-client'

/** The client of `typeOrmLockProvider`, for tests that stand between it and the database. */
export function typeOrmClient(dataSource: DataSourceLike, dialect: DialectName): SqlClient {
  return dialect === 'sqlite' ? sqliteClient(dataSource) : queryRunnerClient(dataSource, dialect, true)
}

/** The client of `prismaLockProvider`. */
export function prismaClient(prisma: PrismaClientLike, dialect: DialectName): SqlClient {
  const driver = driverOf(dialect)
  const onFile = dialect === 'sqlite' ? sqliteOpener(prisma, adapterOf(prisma), driver) : undefined
  const connect = onFile ?? (() => Promise.resolve({ run: (...statement) => runRaw(prisma, ...statement) }))
  return sqlClient(driver, { connect })
}
