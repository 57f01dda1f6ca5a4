import type { PrismaClientLike } from '../../src/prisma/internal'
import { prismaSqlExecutor } from '../../src/prisma/prisma-sql-executor'
import { sqliteClient } from '../../src/prisma/sqlite-client'
import { dialects, type DialectName, type SqlExecutor } from '../../src/sql/internal'
import type { DataSourceLike } from '../../src/typeorm/internal'
import { ownQueryRunner, queryRunnerSqlExecutor } from '../../src/typeorm/query-runner-sql-executor'
import { sqliteSqlExecutor } from '../../src/typeorm/sqlite-sql-executor'

/** What `typeOrmLockProvider` runs its statements by, for tests that stand between it and the database. */
export function typeOrmExecutor(dataSource: DataSourceLike, dialect: DialectName): SqlExecutor {
  return dialect === 'sqlite'
    ? sqliteSqlExecutor(dataSource)
    : queryRunnerSqlExecutor(ownQueryRunner(dataSource, dialects[dialect]), dialect)
}

/** What `prismaLockProvider` runs its statements by. */
export function prismaExecutor(prisma: PrismaClientLike, dialect: DialectName): SqlExecutor {
  const use = dialect === 'sqlite' ? sqliteClient(prisma) : undefined
  return prismaSqlExecutor(dialect, use ?? ((work) => work(prisma)))
}
