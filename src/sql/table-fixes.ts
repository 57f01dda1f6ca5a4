import { tableDefinition } from './create-table'
import type { Dialect, LockColumn } from './dialect'
import type { LockTable } from './lock-table'
import { spell, type Statement } from './statement'

const text = (identifier: Statement): string => spell(identifier, () => '?').text

function addColumn(table: string, column: string, definition: string, value: string): string {
  return `alter table ${table} add ${column} ${definition.replace('not null', `default ${value} not null`)}`
}

/** SQL that gives a lock table what it lacks. For people to read and run; this library never runs it. */
export class TableFixes {
  constructor(
    private readonly dialect: Dialect,
    private readonly table: LockTable,
    /** The time zone of the sessions that use the table, where that matters. */
    private readonly zone?: string,
  ) {}

  create(): readonly string[] {
    const { schema } = this.table.names
    const { createSchema } = this.dialect.ddl
    const { create } = this.#definition(this.table)
    return schema === undefined || !createSchema
      ? [create]
      : [createSchema(this.dialect.quote(schema)), create]
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
    const add = this.dialect.ddl.addColumn ?? addColumn
    return [add(text(this.table.table), text(this.table[column]), this.dialect.ddl.columns[column], value)]
  }

  /** @param type the one it has now */
  changeColumn(column: LockColumn, type: string): readonly string[] {
    const { alterColumn, alterKey, columns } = this.dialect.ddl
    if (column === 'name' && alterKey) {
      const key = this.dialect.quote(`${this.table.names.table}_pkey`)
      return alterKey(text(this.table.table), text(this.table.name), columns.name, key)
    }
    if (!alterColumn) return this.#rebuild()
    const { timeZone } = this.dialect.inspection ?? {}
    return [
      ...(this.zone !== undefined && timeZone?.types.test(type) ? [timeZone.set(this.zone)] : []),
      alterColumn(text(this.table.table), text(this.table[column]), columns[column], type),
    ]
  }

  /** A unique index, because the table may have another primary key. */
  addKey(): readonly string[] {
    const index = this.dialect.quote(this.#shortened(this.table.names.table, '_name'))
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
    const renamed = this.#shortened(names.table, '_new')
    const qualified = names.schema === undefined ? '' : `${this.dialect.quote(names.schema)}.`
    const columns = [this.table.name, this.table.lockUntil, this.table.lockedAt, this.table.lockedBy]
      .map(text)
      .join(', ')
    const old = text(this.table.table)
    const temporary = `${qualified}${this.dialect.quote(renamed)}`
    return [
      this.#definition({ ...this.table, names: { ...names, table: renamed } }).create,
      `insert into ${temporary} (${columns}) select ${columns} from ${old}`,
      `drop table ${old}`,
      `alter table ${temporary} rename to ${this.dialect.quote(names.table)}`,
    ]
  }

  /** A table's name may be as long as a name can be. */
  #shortened(name: string, suffix: string): string {
    let start = name
    while (Buffer.byteLength(start + suffix) > this.dialect.longestIdentifier)
      start = Array.from(start).slice(0, -1).join('')
    return start + suffix
  }

  #definition({ names }: LockTable) {
    return tableDefinition(this.dialect, {
      schema: names.schema,
      tableName: names.table,
      columnNames: names.columns,
    })
  }
}
