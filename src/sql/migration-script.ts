import { tableDefinition } from './create-table'
import type { Dialect } from './dialect'
import type { LockTableOptions } from './lock-table'

/** The lock table's migration as files for migration tools. */
export interface MigrationScripts {
  /** Plain SQL for the database's own client and for Flyway; its comments make it Liquibase's formatted SQL as well. */
  readonly up: string
  readonly down: string
  /** Both ways in one file. */
  readonly dbmate: string
}

/**
 * The migration of a lock table with these names, as text.
 *
 * @throws LockError `INVALID_CONFIGURATION` for names that the dialect cannot have
 */
export function migrationScripts(dialect: Dialect, options: LockTableOptions = {}): MigrationScripts {
  const { up, down } = tableDefinition(dialect, options)
  const script = (statements: readonly string[]): string =>
    statements.map((statement) => `${statement};\n`).join('\n')
  // Liquibase would cut a block at its first semicolon.
  const attributes = dialect.ddl.createTogether ? ' splitStatements:false' : ''
  return {
    up:
      `-- liquibase formatted sql\n\n-- changeset shedlock-orm:create-shedlock${attributes}\n${script(up)}\n` +
      down.map((statement) => `-- rollback ${statement};\n`).join(''),
    down: script(down),
    dbmate: `-- migrate:up\n${script(up)}\n-- migrate:down\n${script(down)}`,
  }
}
