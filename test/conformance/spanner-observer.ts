import type { DataSource, QueryRunner } from 'typeorm'
import type { Observer } from './lock-table-observer'

const ABORTED = 10

/** Lets a DataSource for Spanner be asked in the words of the other databases. */
export function spannerObserver(dataSource: DataSource): Observer {
  return {
    query: async <T>(sql: string, parameters?: unknown[]): Promise<T> => {
      for (;;) {
        const queryRunner = dataSource.createQueryRunner() as QueryRunner & {
          updateDDL(sql: string): Promise<void>
        }
        try {
          if (/^(create|drop) /.test(sql)) {
            await queryRunner.updateDDL(inItsTypes(sql))
            return [] as T
          }
          // What begins with SELECT is read without a transaction.
          return (await queryRunner.query(sql.replace(/^select /, 'SELECT '), parameters)) as T
        } catch (error) {
          if ((error as { driverError?: { code?: unknown } }).driverError?.code !== ABORTED) throw error
        } finally {
          await queryRunner.release()
        }
      }
    },
  }
}

function inItsTypes(sql: string): string {
  return sql.replaceAll('varchar(', 'string(').replaceAll(' integer', ' int64')
}
