import { writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { inspect } from 'node:util'
import { Argument, type Command } from 'commander'
import { prismaMigration, prismaModel, type PrismaProvider } from '../prisma/internal'
import { prismaContract } from '../prisma-8/internal'
import { dialects, migrationScripts, type DialectName, type LockTableOptions } from '../sql/internal'
import { wrongUsage } from './command-error'
import { isCommonJs } from './data-source'
import { addOptions, lockTableOptions, NAME_OPTIONS, type Flags, type OptionName } from './options'
import { print, warn } from './output'

const PROVIDERS: readonly PrismaProvider[] = ['postgresql', 'cockroachdb', 'mysql', 'sqlite', 'sqlserver']
/** Prisma and this library name two databases differently. Both commands accept either name, and `sql` also that of the driver. */
const DIALECT_OF: Readonly<Record<string, DialectName>> = {
  ...{ postgresql: 'postgres', sqlserver: 'mssql' },
  ...{ pg: 'postgres', mysql2: 'mysql' },
}
const PROVIDER_OF: Readonly<Record<string, PrismaProvider>> = {
  postgres: 'postgresql',
  mssql: 'sqlserver',
  mariadb: 'mysql',
}

const OUT_OPTIONS = ['out', ...NAME_OPTIONS] as const

type OutFlags<Name extends OptionName = 'out'> = Flags<Name | (typeof OUT_OPTIONS)[number]>

/** Adds the commands that only print, and never connect to anything. */
export function addPrintCommands(program: Command): void {
  const sql = program
    .command('sql')
    .summary('print the migration as SQL')
    .description(
      "Prints the SQL that creates the lock table: for the database's own client, for Flyway, and for Liquibase (as formatted SQL). Never connects to a database.",
    )
    .addArgument(
      new Argument('<dialect>', 'the database').choices([
        ...Object.keys(dialects),
        ...Object.keys(DIALECT_OF),
      ]),
    )
  addOptions(sql, 'down', ...OUT_OPTIONS).action((name: string, flags: OutFlags<'down'>) => {
    const dialect = DIALECT_OF[name] ?? (name as DialectName)
    const names = lockTableOptions(flags)
    const { up, down } = migrationScripts(dialects[dialect], names)
    printOrWrite(flags.down ? down : up, flags)
    recallNames('the lock provider (…)', names)
  })

  const prisma = program
    .command('prisma')
    .summary('print the Prisma model, or the migration')
    .description(
      "Prints the lock table as a model for your schema.prisma, so that Prisma's migrations know the table and leave it alone. Never connects to a database.",
    )
    .addArgument(
      new Argument('<provider>', "of your schema's datasource").choices([
        ...PROVIDERS,
        ...Object.keys(PROVIDER_OF),
      ]),
    )
  addOptions(prisma, 'migration', 'contract', ...OUT_OPTIONS).action(
    (name: string, flags: OutFlags<'migration' | 'contract'>) => {
      const provider = PROVIDER_OF[name] ?? (name as PrismaProvider)
      const names = lockTableOptions(flags)
      if (flags.contract && provider !== 'postgresql')
        throw wrongUsage('--contract is for Prisma 8, which keeps locks on postgresql only.')
      const text = flags.migration ? prismaMigration : prismaModel
      printOrWrite(flags.contract ? prismaContract(names) : text(provider, names), flags)
      recallNames(flags.contract ? 'prismaLockProvider(db, …)' : 'prismaLockProvider(prisma, …)', names)
    },
  )

  const typeorm = program
    .command('typeorm')
    .summary('print the TypeORM migration')
    .description(
      "Prints a migration file for TypeORM's command line and dataSource.runMigrations(). Never connects to a database.",
    )
  addOptions(typeorm, ...OUT_OPTIONS).action((flags: OutFlags) => {
    const names = lockTableOptions(flags)
    printOrWrite(typeOrmMigration(names, flags.out), flags)
    recallNames('typeOrmLockProvider(dataSource, …)', names)
  })
}

/** The date of `createShedLockMigration`. */
const CREATED = '1735689600000'

/**
 * The source of a migration file for a TypeORM project.
 *
 * @param file its name. TypeORM sorts migrations by the date in their classes' names, which should be that of the file
 */
function typeOrmMigration(options: LockTableOptions, file = ''): string {
  const [, date = CREATED] = /^(\d{13})-/.exec(basename(file)) ?? []
  const name = `CreateShedLock${date}`
  const call = `createShedLockMigration(${Object.keys(options).length === 0 ? '' : literal(options)})`
  const isCommon = /\.c?js$/.test(file) && isCommonJs(resolve(file))
  const override = /\.[cm]?js$/.test(file) ? '' : 'override '
  const isDated = date !== CREATED
  const value = isDated ? `class ${name} extends ${call} {\n  ${override}name = '${name}'\n}` : call
  return isCommon
    ? `const { createShedLockMigration } = require('shedlock-orm/typeorm')\n\nexports.${name} = ${value}\n`
    : `import { createShedLockMigration } from 'shedlock-orm/typeorm'\n\nexport ${isDated ? '' : `const ${name} = `}${value}\n`
}

function literal(options: LockTableOptions): string {
  return inspect(options, { compact: true, breakLength: Infinity })
}

/** Reminds that the provider needs the names too: what is printed here does not reach it. */
function recallNames(call: string, names: LockTableOptions): void {
  if (Object.keys(names).length > 0)
    warn(`use the same names in code: ${call.replace('…', () => literal(names))}`)
}

/** Prints the text, or writes it to a file that does not exist yet. */
function printOrWrite(text: string, { out }: Flags<'out'>): void {
  if (out === undefined) {
    print(text)
    return
  }
  try {
    writeFileSync(out, text, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw wrongUsage(`${out} already exists – choose another name, or remove it.`)
    const advice = code === 'ENOENT' ? ' – create its folder first' : ''
    throw wrongUsage(`${out} cannot be written: ${message}${advice}`)
  }
  warn(`wrote ${out}`)
}
