import { Argument, type Command } from 'commander'
import { dialects, migrationScripts, type DialectName } from '../sql/internal'
import { literal } from './init/plan'
import { addOptions, lockTableOptions, NAME_OPTIONS, type Flags } from './options'
import { print, warn } from './output'
import { writeText } from './write-text'

/** Prisma's and the drivers' names for databases, which differ from those of the dialects. */
const ALIASES: Readonly<Record<string, DialectName>> = {
  ...{ postgresql: 'postgres', sqlserver: 'mssql' },
  ...{ pg: 'postgres', mysql2: 'mysql' },
}

const OPTIONS = ['down', 'out', ...NAME_OPTIONS] as const

/** Adds the command that prints the table for whatever is neither TypeORM nor Prisma. Never connects to anything. */
export function addSqlCommand(program: Command): void {
  const sql = program
    .command('sql')
    .summary('print the migration as SQL')
    .description(
      "Prints the SQL that creates the lock table: for the database's own client, for Flyway, and for Liquibase (as formatted SQL). Never connects to a database.",
    )
    .addArgument(
      new Argument('<dialect>', 'the database').choices([...Object.keys(dialects), ...Object.keys(ALIASES)]),
    )
  addOptions(sql, ...OPTIONS).action((name: string, flags: Flags<(typeof OPTIONS)[number]>) => {
    const dialect = ALIASES[name] ?? (name as DialectName)
    const names = lockTableOptions(flags)
    const { up, down } = migrationScripts(dialects[dialect], names)
    const text = flags.down ? down : up
    if (flags.out === undefined) print(text)
    else {
      writeText(flags.out, text)
      warn(`wrote ${flags.out}`)
    }
    // What is printed here does not reach the provider.
    if (Object.keys(names).length > 0)
      warn(`use the same names in code: the lock provider (${literal(names)})`)
  })
}
