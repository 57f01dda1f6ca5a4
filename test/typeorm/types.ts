/** Checked by tsc alone: the classes of TypeORM, lowest and newest, fit where the library wants its own small types. */
import {
  DataSource,
  EntitySchema,
  type EntityManager,
  type MigrationInterface,
  type QueryRunner,
} from 'typeorm'
import * as typeOrm03 from 'typeorm-0.3'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { shedLockEntity, type ShedLock } from '../../src/typeorm/entity'
import { guard } from '../../src/typeorm/guard'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'

declare const dataSource: DataSource
declare const dataSource03: typeOrm03.DataSource
declare const queryRunner: QueryRunner
declare const queryRunner03: typeOrm03.QueryRunner
declare const manager: EntityManager
declare const manager03: typeOrm03.EntityManager

// What is only written down, and never run.
export async function fits(): Promise<void> {
  typeOrmLockProvider(dataSource)
  typeOrmLockProvider(dataSource03)
  new LockingTaskExecutor(typeOrmLockProvider(dataSource), { defaultLockAtMostFor: '10m' })

  new DataSource({ type: 'postgres', entities: [shedLockEntity()], migrations: [createShedLockMigration()] })
  new typeOrm03.DataSource({
    type: 'postgres',
    entities: [shedLockEntity()],
    migrations: [createShedLockMigration()],
  })
  const migration: MigrationInterface = new (createShedLockMigration())()
  await migration.up(queryRunner)
  const migration03: typeOrm03.MigrationInterface = new (createShedLockMigration())()
  await migration03.up(queryRunner03)
  new EntitySchema({ ...shedLockEntity().options })
  const rows: ShedLock[] = await dataSource.getRepository<ShedLock>(shedLockEntity()).find()
  rows.push(...(await dataSource03.getRepository<ShedLock>(shedLockEntity()).find()))

  await guard(manager)
  await guard(manager03)
  await guard(queryRunner)
  await guard(queryRunner03)

  // @ts-expect-error an EntityManager would make the lock part of a transaction
  typeOrmLockProvider(manager)
  // @ts-expect-error so would a QueryRunner
  typeOrmLockProvider(queryRunner)
  // @ts-expect-error the option is called tableName
  typeOrmLockProvider(dataSource, { table: 'locks' })
}
