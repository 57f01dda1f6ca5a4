import type { Dialect, LockColumn } from './dialect'
import { lockTable, type LockTableOptions } from './lock-table'
import { spell, type Statement } from './statement'

/** The statements that make the lock table, and those that remove it, for people to read. */
export interface TableDefinition {
  /** The first of `up` in plain words, for those who alone change the database. */
  readonly create: string
  /** Where the database has `if not exists`, several sessions may run it at the same time, and again. */
  readonly up: readonly string[]
  readonly down: readonly string[]
}

/**
 * The statements for a lock table with these names.
 *
 * @throws LockError `INVALID_CONFIGURATION` for names that the dialect cannot have
 */
export function tableDefinition(dialect: Dialect, options: LockTableOptions = {}): TableDefinition {
  const { conditional, columns, createTogether, namedPrimaryKey, primaryKeyBehind, tableOptions } =
    dialect.ddl
  const lock = lockTable(dialect, options)
  const text = (identifier: Statement): string => spell(identifier, () => '?').text
  const table = text(lock.table)
  const column = (role: LockColumn): string => `  ${text(lock[role])} ${columns[role]}`
  // Named as Prisma names it, which would take another name for a change to the table.
  const primaryKey = namedPrimaryKey
    ? `constraint ${dialect.quote(`${lock.names.table}_pkey`)} primary key`
    : 'primary key'
  const key = `${primaryKey} (${text(lock.name)})`
  const parts = [column('name'), column('lockUntil'), column('lockedAt'), column('lockedBy')]
  const inside = primaryKeyBehind ? parts : [...parts, `  ${key}`]
  const behind = primaryKeyBehind ? key : tableOptions
  const create =
    `create table ${conditional ? 'if not exists ' : ''}${table} (\n${inside.join(',\n')}\n)` +
    (behind === undefined ? '' : ` ${behind}`)
  const up = [createTogether?.(create) ?? create]
  // `if not exists` would take any table of that name for the lock table; this changes nothing, but fails on another.
  if (conditional) {
    const same = ([lock.lockUntil, lock.lockedAt, lock.lockedBy] as const).map(text)
    up.push(
      `update ${table} set ${same.map((name) => `${name} = ${name}`).join(', ')} where ${text(lock.name)} = ''`,
    )
  }
  return { create, up, down: [`drop table ${conditional ? 'if exists ' : ''}${table}`] }
}
