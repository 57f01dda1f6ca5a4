import { tableDefinition } from './create-table'
import type { Dialect, LockColumn } from './dialect'
import type { LockTable } from './lock-table'
import { spell, type Statement } from './statement'

const text = (identifier: Statement): string => spell(identifier, () => '?').text

/** SQL that gives a lock table what it lacks. For people to read and run, never run by this library. */
export class TableMender {
  constructor(
    private readonly dialect: Dialect,
    private readonly table: LockTable,
  ) {}

  create(): readonly string[] {
    return this.#definition(this.table).up.slice(0, 1)
  }

  addColumn(column: LockColumn): readonly string[] {
    // A row that is there already is a lock that nobody holds.
    const value = {
      name: undefined,
      lockUntil: `'1970-01-01 00:00:00'`,
      lockedAt: `'1970-01-01 00:00:00'`,
      lockedBy: `'-'`,
    }[column]
    if (value === undefined) return []
    const definition = this.dialect.ddl.columns[column].replace('not null', `default ${value} not null`)
    return [`alter table ${text(this.table.table)} add ${text(this.table[column])} ${definition}`]
  }

  /** @param type the one it has now */
  changeColumn(column: LockColumn, type: string): readonly string[] {
    const { alterColumn, columns } = this.dialect.ddl
    if (!alterColumn) return this.#rebuild()
    return [alterColumn(text(this.table.table), text(this.table[column]), columns[column], type)]
  }

  /** A unique index, because the table may have another primary key. */
  addKey(): readonly string[] {
    const index = this.dialect.quote(`${this.table.names.table}_name`)
    return [`create unique index ${index} on ${text(this.table.table)} (${text(this.table.name)})`]
  }

  grant(grantee: string): readonly string[] {
    return [`grant select, insert, update on ${text(this.table.table)} to ${grantee}`]
  }

  grantSchema(grantee: string): readonly string[] {
    return [`grant usage on schema ${this.dialect.quote(this.table.names.schema ?? '')} to ${grantee}`]
  }

  /** For a database that cannot alter columns: SQLite. */
  #rebuild(): readonly string[] {
    const { names } = this.table
    const renamed = `${names.table}_new`
    const qualified = names.schema === undefined ? '' : `${this.dialect.quote(names.schema)}.`
    const columns = [this.table.name, this.table.lockUntil, this.table.lockedAt, this.table.lockedBy]
      .map(text)
      .join(', ')
    const old = text(this.table.table)
    const temporary = `${qualified}${this.dialect.quote(renamed)}`
    return [
      ...this.#definition({ ...this.table, names: { ...names, table: renamed } }).up.slice(0, 1),
      `insert into ${temporary} (${columns}) select ${columns} from ${old}`,
      `drop table ${old}`,
      `alter table ${temporary} rename to ${this.dialect.quote(names.table)}`,
    ]
  }

  #definition({ names }: LockTable) {
    return tableDefinition(this.dialect, {
      schema: names.schema,
      tableName: names.table,
      columnNames: names.columns,
    })
  }
}
