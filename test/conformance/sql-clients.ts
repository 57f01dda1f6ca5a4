import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import type { DialectName } from '../../src/sql/dialect'
import type { SqlClient } from '../../src/sql/session'
import type { DataSourceLike } from '../../src/typeorm/data-source-like'
import { errorsOf } from '../../src/prisma/native-code'
import { prismaSqlClient } from '../../src/prisma/prisma-sql-client'
import { sqliteClient as prismaOnSqlite } from '../../src/prisma/sqlite-client'
import { queryRunnerClient } from '../../src/typeorm/query-runner-client'
import { sqliteClient } from '../../src/typeorm/sqlite-client'

/** The client of `typeOrmLockProvider`, for tests that stand between it and the database. */
export function typeOrmClient(dataSource: DataSourceLike, dialect: DialectName): SqlClient {
  return dialect === 'sqlite' ? sqliteClient(dataSource) : queryRunnerClient(dataSource, dialect, true)
}

/** The client of `prismaLockProvider`. */
export function prismaClient(prisma: PrismaClientLike, dialect: DialectName): SqlClient {
  const use = dialect === 'sqlite' ? prismaOnSqlite(prisma, errorsOf(dialect)) : undefined
  return prismaSqlClient(dialect, use ?? ((work) => work(prisma)))
}
