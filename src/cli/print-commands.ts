import { Argument, Option, type Command } from 'commander'
import { prismaMigration, prismaModel, type PrismaProvider } from '../prisma'
import { dialects, migrationScripts, type DialectName } from '../sql'
import { addNameOptions, lockTableOptions, type NameFlags } from './name-options'
import { printOrWrite } from './output'
import { typeOrmSource, type ModuleFormat } from './typeorm-source'

const PROVIDERS: readonly PrismaProvider[] = ['postgresql', 'cockroachdb', 'mysql', 'sqlite', 'sqlserver']

interface OutFlags extends NameFlags {
  readonly out?: string
  readonly force?: boolean
}

/** The commands that only print: they never connect to anything. */
export function addPrintCommands(program: Command): void {
  addOutOptions(program.command('sql'))
    .summary('print the migration as SQL')
    .description(
      'Prints the SQL that makes the lock table. It loads with the client of the database, with Flyway, and with Liquibase as formatted SQL. Never connects.',
    )
    .addArgument(new Argument('<dialect>', 'the database').choices(Object.keys(dialects)))
    .option('--down', 'the SQL that removes the table')
    .option('--dbmate', 'both ways in one file, for dbmate')
    .action((name: DialectName, flags: OutFlags & { down?: boolean; dbmate?: boolean }) => {
      const { up, down, dbmate } = migrationScripts(dialects[name], lockTableOptions(flags))
      printOrWrite(flags.dbmate ? dbmate : flags.down ? down : up, flags)
    })

  addOutOptions(program.command('prisma'))
    .summary('print the Prisma model, or the migration')
    .description(
      "Prints the lock table as a model for your schema.prisma, so that Prisma's migrations know the table and leave it alone. Never connects.",
    )
    .addArgument(new Argument('<provider>', "of your schema's datasource").choices(PROVIDERS))
    .option('--migration', 'the migration.sql instead')
    .action((provider: PrismaProvider, flags: OutFlags & { migration?: boolean }) => {
      const names = lockTableOptions(flags)
      const [migration] = [...prismaMigration(provider, names)].filter(([path]) => path.endsWith('.sql'))
      printOrWrite(flags.migration && migration ? migration[1] : prismaModel(provider, names), flags)
    })

  addOutOptions(program.command('typeorm'))
    .summary('print the TypeORM migration, or the entity')
    .description(
      "Prints a migration file for TypeORM's command line and dataSource.runMigrations(). Never connects.",
    )
    .option('--entity', 'the entity instead, for entities: […]')
    .addOption(
      new Option('--format <format>', 'kind of module (default: by the name of --out, else ts)').choices([
        'ts',
        'esm',
        'cjs',
      ]),
    )
    .action((flags: OutFlags & { entity?: boolean; format?: ModuleFormat }) => {
      const what = flags.entity ? 'entity' : 'migration'
      printOrWrite(typeOrmSource(what, lockTableOptions(flags), flags.format ?? formatOf(flags.out)), flags)
    })
}

function addOutOptions(command: Command): Command {
  command
    .option('-o, --out <file>', 'write to this file instead')
    .option('--force', 'write over a file that is there')
  return addNameOptions(command).optionsGroup('Options:')
}

function formatOf(file = ''): ModuleFormat {
  if (/\.c?js$/.test(file)) return 'cjs'
  return file.endsWith('.mjs') ? 'esm' : 'ts'
}
