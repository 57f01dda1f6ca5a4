import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { SchedulerName } from '../../src/cli/init/usage'
import { prismaMigration, prismaModel } from '../../src/prisma/prisma-model'
import { read, root } from '../project'
import { temporaryFolder } from '../temporary-folder'
import { projectWith, runCli } from './built-cli'

type Files = Readonly<Record<string, string>>

const TYPEORM_ONLY = packageWith({ typeorm: '^1.1.1' })
const TYPEORM = packageWith({ typeorm: '^1.1.1', typescript: '^6.0.0' })
const PRISMA = packageWith({ '@prisma/client': '^7.10.0' })

function packageWith(dependencies: Files, rest: object = {}): string {
  return JSON.stringify({ dependencies: { 'shedlock-orm': '^0.1.0', ...dependencies }, ...rest })
}

/** Creates a project with these files and packages. */
function project(files: Files, ...packages: string[]): string {
  const folder = projectWith(...packages)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

/** The project's files and their contents. */
function contentsOf(folder: string): Files {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')]
    }),
  )
}

/** Runs the command and returns what it added, by the names of files without their dates. */
async function init(cwd: string, ...args: string[]) {
  const before = contentsOf(cwd)
  const { status, stdout, stderr } = await runCli(['init', ...args], { cwd })
  const after = contentsOf(cwd)
  const undated = (name: string): string => name.replace(/\d{13,14}/g, 'DATE')
  const changed = Object.entries(after).filter(([name, text]) => before[name] !== text)
  for (const [name, text] of Object.entries(before)) expect(after[name]?.startsWith(text)).toBe(true)
  const added = Object.fromEntries(
    changed.map(([name, text]) => [undated(name), undated(text.slice((before[name] ?? '').length))]),
  )
  return { status, stdout, stderr, added, names: changed.map(([name]) => name) }
}

function migration(date: number, imports = "import { MigrationInterface } from 'typeorm'"): string {
  return `${imports}\nexport class Users${date} {\n  async up(queryRunner) {}\n}\n`
}

const CLASS = `import { createShedLockMigration } from 'shedlock-orm/typeorm'

export class CreateShedLockDATE extends createShedLockMigration() {
  override name = 'CreateShedLockDATE'
}
`
const WITH_SEMICOLONS = CLASS.replace(/'$/gm, "';")

describe('shedlock-orm init with TypeORM', () => {
  it.each<[string, Files, Files, string[]?]>([
    [
      'beside the other migrations, in their style',
      {
        'src/db/1715028537217-CreateUser.ts': migration(
          1715028537217,
          'import { X } from "typeorm";',
        ).replaceAll('  ', '\t'),
      },
      { 'src/db/DATE-CreateShedLock.ts': WITH_SEMICOLONS.replaceAll("'", '"').replaceAll('  ', '\t') },
    ],
    [
      'with the words and separators of their names',
      { 'db/1715028537217_create-user.ts': migration(1715028537217) },
      { 'db/DATE_create-shed-lock.ts': CLASS },
    ],
    [
      "as the project's Prettier is configured",
      {
        '.prettierrc': '{ "tabWidth": 4, "singleQuote": true }',
        'db/1715028537217-User.ts': migration(1715028537217),
      },
      { 'db/DATE-CreateShedLock.ts': WITH_SEMICOLONS.replaceAll('  ', '    ') },
      ['prettier'],
    ],
    [
      'as JavaScript with require',
      { 'db/1715028537217-User.js': 'exports.User = class User1715028537217 { async up() {} }\n' },
      {
        'db/DATE-CreateShedLock.js': `const { createShedLockMigration } = require('shedlock-orm/typeorm')

exports.CreateShedLockDATE = class CreateShedLockDATE extends createShedLockMigration() {
  name = 'CreateShedLockDATE'
}
`,
      },
    ],
    [
      'into the folder of sources whose build the DataSource names',
      { 'src/data-source.ts': "export default new DataSource({ migrations: ['dist/db/migrations/*.js'] })" },
      { 'src/db/migrations/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'into the folder beside the DataSource',
      { 'src/db/source.ts': "new DataSource({ migrations: [__dirname + '/migrations/**/*{.ts,.js}'] })" },
      { 'src/db/migrations/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'into the one of several folders that the DataSource names',
      {
        'migration/1715028537217-A.ts': migration(1715028537217),
        'migration-backup/1615028537217-B.ts': migration(1615028537217),
        'src/data-source.ts': "export const source = new DataSource({ migrations: ['migration/*.ts'] })",
      },
      { 'migration/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'for each database',
      {
        'db/mysql/1715028537217-A.ts': migration(1715028537217),
        'db/sqlite/1715028537217-A.ts': migration(1715028537217),
      },
      { 'db/mysql/DATE-CreateShedLock.ts': CLASS, 'db/sqlite/DATE-CreateShedLock.ts': CLASS },
    ],
  ])('writes the migration %s', async (_, files, added, packages = []) => {
    const folder = project({ 'package.json': TYPEORM, ...files }, ...packages)
    const dry = await init(folder, '--dry-run')
    expect(dry).toMatchObject({ status: 0, added: {} })
    for (const [file, text] of Object.entries(added)) {
      expect(dry.stdout.replace(/\d{13}/g, 'DATE')).toContain(`Would write ${file}:`)
      expect(dry.stdout.replace(/\d{13}/g, 'DATE')).toContain(text.trim().replace(/^(?=.)/gm, '  '))
    }
    expect((await init(folder)).added).toEqual(added)
    const again = await init(folder)
    expect(again).toMatchObject({ status: 0, added: {} })
    expect(again.stderr).toContain('already has the table, so it is left as it is')
  })

  it.each<[string, string, string, boolean, string | undefined]>([
    ['sqlite', 'true', "{ dialect: 'sqlite' }", false, undefined],
    ['better-sqlite3', 'true', "{ dialect: 'sqlite' }", false, undefined],
    ['mysql', "config.get('DB_SYNC')", "{ dialect: 'mysql' }", true, '`connectTimeout: 4_000` in'],
    ['postgres', 'sync, connectTimeoutMS: 4_000', "{ dialect: 'postgres' }", true, undefined],
    ['aurora-postgres', 'isDevelopment()', "{ dialect: 'postgres' }", true, '`connectTimeoutMS: 4_000` in'],
    ['sap', 'isDevelopment()', "{ dialect: 'hana' }", true, undefined],
    ['expo', 'isDevelopment()', '', true, '`connectTimeout: 4_000` for MySQL and MariaDB, in'],
  ])(
    'names the entity where the app on %s synchronizes its schema: %s',
    async (type, synchronize, options, mayMigrate, limit) => {
      const source = `TypeOrmModule.forRoot({ type: '${type}', synchronize: ${synchronize} })`
      const { added, stdout } = await init(project({ 'package.json': TYPEORM, 'src/app.module.ts': source }))
      expect(added).toEqual({})
      expect(stdout).toContain(`const entities = [shedLockEntity(${options})]`)
      for (const step of ['createShedLockMigration', 'Run the migrations'])
        expect(stdout.includes(step)).toBe(mayMigrate)
      expect(stdout.includes(limit ?? 'Timeout: 4_000')).toBe(limit !== undefined)
    },
  )

  it.each([
    [['mysql2'], '`connectTimeout: 4_000` in'],
    [['better-sqlite3'], undefined],
    [['pg', 'better-sqlite3'], '`connectTimeoutMS: 4_000` for PostgreSQL'],
  ])('knows the database by its driver where the type is a variable: %j', async (drivers, limit) => {
    const dependencies = Object.fromEntries(['typeorm', ...drivers].map((name) => [name, '1.1.1']))
    const files = { 'package.json': packageWith(dependencies), 'src/source.js': 'new DataSource({ type })' }
    const { stdout } = await init(project(files))
    expect(stdout.includes(limit ?? 'Timeout')).toBe(limit !== undefined)
  })

  it.each([
    ['tsx', '', '--import tsx'],
    ['ts-node-dev', '', '--require ts-node/register'],
    ['typescript', 'npm install -D tsx\n   ', '--import tsx'],
  ])('prints what loads a DataSource in TypeScript, with %s', async (name, install, option) => {
    const files = {
      'package.json': packageWith({ typeorm: '1.1.1', [name]: '1.0.0' }),
      'src/data-source.ts': 'export default new DataSource({ connectTimeoutMS: 4_000 })',
    }
    const { stdout } = await init(project(files))
    expect(stdout).toContain(
      `\n\n   ${install}NODE_OPTIONS="${option}" npx shedlock-orm doctor -d src/data-source.ts\n`,
    )
  })

  it.each([
    ['in the export', "module.exports = new DataSource({ type: 'mysql' })"],
    ['by name', "const source = new DataSource({ type: 'mysql' })\nmodule.exports = { source }"],
    [
      'as the default',
      "const source: DataSource = new DataSource({ type: 'mysql' })\n\nexport default source",
    ],
    ['with a comment', "export const source = new DataSource({ type: 'mysql' }) // listen() is elsewhere"],
  ])('checks with the DataSource that a file exports %s', async (_, text) => {
    const { stdout } = await init(project({ 'package.json': TYPEORM, 'src/app.js': text }))
    expect(stdout).toContain('\n   npx shedlock-orm doctor -d src/app.js\n')
  })

  it.each([
    ['await dataSource.initialize()', 'mysql', ' --url "mysql://USER:PASSWORD@HOST/DATABASE"'],
    ['app.listen(3000)', 'better-sqlite3', ' --url "file:PATH"'],
    ["schedule('* * * * *', send)", 'postgres', ' --url "postgres://USER:PASSWORD@HOST/DATABASE"'],
    ["schedule('* * * * *', send)", 'oracle', ' -d app.js'],
  ])('does not load a file that starts the app, such as with %s', async (line, type, option) => {
    const text = `export const dataSource = new DataSource({ type: '${type}', host: process.env.HOST })\n${line}\n`
    const { stdout } = await init(project({ 'package.json': TYPEORM, 'app.js': text }))
    expect(stdout).toContain('it would execute app.js, which seems to start the app')
    expect(stdout).toContain(`\n   npx shedlock-orm doctor${option}\n`)
    const named = { '.env': 'DATABASE_URL=mysql://localhost/app\n', 'app.js': text }
    if (type === 'mysql')
      expect((await init(project({ 'package.json': TYPEORM, ...named }))).stdout).toContain(
        'doctor --env .env\n',
      )
  })

  it('checks by the URL where no file exports a DataSource', async () => {
    const source = "TypeOrmModule.forRoot({ type: 'mariadb' })"
    const { stdout } = await init(project({ 'package.json': TYPEORM, 'src/app.module.ts': source }))
    expect(stdout).toContain('doctor --url "mariadb://USER:PASSWORD@HOST/DATABASE"\n')
  })

  it.each([
    [
      'ts-node -r tsconfig-paths/register --require dotenv/config typeorm',
      'src/source.ts',
      '--require tsconfig-paths/register --require dotenv/config --import tsx',
    ],
    [
      'node -r ts-node/register -r tsconfig-paths/register -r not-installed/register',
      'src/source.ts',
      '--require ts-node/register --require tsconfig-paths/register',
    ],
    [
      'node -r ts-node/register -r dotenv/config --enable-source-maps',
      'src/source.js',
      '--require dotenv/config',
    ],
  ])('loads a DataSource as the scripts of the project do: %s', async (script, file, options) => {
    const names = ['typeorm', 'tsx', 'ts-node', 'tsconfig-paths', 'dotenv']
    const dependencies = Object.fromEntries(names.map((name) => [name, '1.1.1']))
    const files = {
      'package.json': packageWith(dependencies, { scripts: { migrate: script } }),
      [file]: 'export default new DataSource({})',
    }
    const { stdout } = await init(project(files))
    expect(stdout).toContain(`\n   NODE_OPTIONS="${options}" npx shedlock-orm doctor -d ${file}\n`)
  })

  it('advises against migrationsRun, which the app has', async () => {
    const options = "export default { migrationsRun: true, migrations: ['dist/migrations/*.js'] }"
    const { stdout } = await init(project({ 'package.json': TYPEORM, 'src/ormconfig.ts': options }))
    expect(stdout).toContain('before the instances start, rather than with migrationsRun')
  })

  it('dates the migration today, or behind the newest', async () => {
    const from = Date.now()
    const folder = project({ 'package.json': TYPEORM, 'db/1715028537217-A.ts': migration(1715028537217) })
    const [today = ''] = (await init(folder)).names
    const date = Number(/\d{13}/.exec(today)?.[0])
    expect(date).toBeGreaterThanOrEqual(from)
    expect(date).toBeLessThanOrEqual(Date.now())
    const later = project({ 'package.json': TYPEORM, 'db/9715028537217-A.ts': migration(9715028537217) })
    expect((await init(later)).names).toEqual(['db/9715028537218-CreateShedLock.ts'])
  })

  it('says where the migration has to be listed, or that there is no folder', async () => {
    const folder = project({
      'package.json': TYPEORM,
      'db/1715028537217-A.ts': migration(1715028537217),
      'db/index.ts': "import { A } from './1715028537217-A'",
    })
    expect((await init(folder)).stdout).toMatch(/List CreateShedLock\d{13} in db\/index\.ts, as the other/)
    const without = await init(project({ 'package.json': TYPEORM }))
    expect(without.added).toEqual({})
    expect(without.stdout).toContain('const migrations = [createShedLockMigration()]')
  })

  it('asks for the folder if it cannot know it, and takes it', async () => {
    const folder = project({
      'package.json': TYPEORM,
      'a/x/1715028537217-A.ts': migration(1715028537217),
      'b/y/1715028537217-A.ts': migration(1715028537217),
    })
    expect(await init(folder)).toMatchObject({
      status: 2,
      stderr: 'shedlock-orm: There are migrations in a/x, b/y – name the folder with --migrations.\n',
    })
    const names = ['--table-name', 'job_locks', '--schema', 'ops']
    const { added, stdout } = await init(folder, '--migrations', 'b/y', ...names)
    const options = "{ schema: 'ops', tableName: 'job_locks' }"
    expect(added).toEqual({
      'b/y/DATE-CreateShedLock.ts': CLASS.replace('Migration()', `Migration(${options})`),
    })
    expect(stdout).toContain(`typeOrmLockProvider(dataSource, ${options})`)
    // Another table than the first.
    expect((await init(folder, '--migrations', 'b/y')).added).toEqual({ 'b/y/DATE-CreateShedLock.ts': CLASS })
  })
})

const SCHEMA = `generator client {
  provider = "prisma-client"
}

datasource db {
  provider = "postgresql"
  // url = env("OLD_URL")
  url      = env("POSTGRES_URL")
}
`
const USER = '\nmodel User {\n  id Int @id\n}\n'
const MIGRATION = 'migrations/DATE_create_shedlock/migration.sql'
const LOCK = 'provider = "postgresql"\n'
const MODEL = prismaModel('postgresql')
const SQL = prismaMigration('postgresql')

describe('shedlock-orm init with Prisma', () => {
  it.each<[string, Files, Files, string[]?]>([
    [
      'after prisma init',
      { 'prisma/schema.prisma': SCHEMA },
      {
        'prisma/schema.prisma': `\n${MODEL}`,
        [`prisma/${MIGRATION}`]: SQL,
        'prisma/migrations/migration_lock.toml': `# Please do not edit this file manually\n${LOCK}`,
      },
    ],
    [
      'beside other migrations, whose lock it leaves alone',
      {
        'prisma/schema.prisma': SCHEMA + USER.trimEnd(),
        'prisma/migrations/migration_lock.toml': LOCK,
        'prisma/migrations/20240101000000_users/migration.sql': 'create table users ()',
      },
      { 'prisma/schema.prisma': `\n\n${MODEL}`, [`prisma/${MIGRATION}`]: SQL },
    ],
    [
      'into a file of its own, if the schema has several',
      {
        'prisma/schema/schema.prisma': SCHEMA,
        'prisma/schema/user.prisma': USER,
        'prisma/migrations/migration_lock.toml': LOCK,
      },
      { 'prisma/schema/shedlock.prisma': MODEL, [`prisma/${MIGRATION}`]: SQL },
    ],
    [
      'where prisma.config.ts has them, even without its variables',
      {
        'prisma.config.ts': `import { defineConfig, env } from 'prisma/config'
export default defineConfig({
  schema: 'db/models',
  migrations: { path: 'db/steps' },
  datasource: { url: env('POSTGRES_URL') },
})`,
        'db/models/main.prisma': SCHEMA.replace(/ *url .*\n/, ''),
        'db/steps/migration_lock.toml': LOCK,
      },
      { 'db/models/shedlock.prisma': MODEL, [`db/steps/${MIGRATION.replace('migrations/', '')}`]: SQL },
      ['prisma'],
    ],
  ])('writes the model and the migration %s', async (_, files, added, packages = []) => {
    const folder = project({ 'package.json': PRISMA, ...files }, ...packages)
    expect(await init(folder, '--dry-run')).toMatchObject({ status: 0, added: {} })
    expect(await init(folder)).toMatchObject({ status: 0, added })
    expect(await init(folder)).toMatchObject({ status: 0, added: {} })
  })

  const ON_SQLITE: Files = {
    'prisma-sqlite/schema.prisma': SCHEMA.replace('postgresql', 'sqlite') + USER,
    'prisma-sqlite/migrations/migration_lock.toml': 'provider = "sqlite"\n',
  }
  const ADDED_ON_SQLITE: Files = {
    'prisma-sqlite/schema.prisma': `\n${prismaModel('sqlite')}`,
    [`prisma-sqlite/${MIGRATION}`]: prismaMigration('sqlite'),
  }
  const ON_POSTGRES: Files = {
    'prisma/schema.prisma': SCHEMA + USER,
    'prisma/migrations/migration_lock.toml': LOCK,
  }

  it.each<[string, Files, Files]>([
    ['beside the usual one', ON_POSTGRES, ADDED_ON_SQLITE],
    [
      'named after its database',
      {
        'db/postgres-schema.prisma': SCHEMA + USER,
        'db/postgres-migrations/migration_lock.toml': LOCK,
      },
      ADDED_ON_SQLITE,
    ],
    [
      'but not of other models',
      {
        ...ON_POSTGRES,
        'prisma-sqlite/schema.prisma': `${ON_SQLITE['prisma-sqlite/schema.prisma'] ?? ''}\nmodel Other {\n}\n`,
      },
      {},
    ],
  ])('writes the schema of the same models for another database, %s', async (_, files, added) => {
    const folder = project({ 'package.json': PRISMA, ...ON_SQLITE, ...files })
    const [schema = ''] = Object.keys(files)
    const migrations = schema.replace('schema.prisma', 'migrations')
    expect((await init(folder)).added).toEqual({
      [schema]: `\n${MODEL}`,
      [`${migrations}/DATE_create_shedlock/migration.sql`]: SQL,
      ...added,
    })
    expect((await init(folder)).added).toEqual({})
  })

  it('writes the schema of the migrations that are named', async () => {
    const folder = project({ 'package.json': PRISMA, ...ON_SQLITE, ...ON_POSTGRES })
    const { added } = await init(folder, '--migrations', 'prisma-sqlite/migrations')
    expect(added).toEqual(ADDED_ON_SQLITE)
  })

  it('writes only the model where the models were pushed', async () => {
    const folder = project({ 'package.json': PRISMA, 'prisma/schema.prisma': SCHEMA + USER })
    const { added, stdout } = await init(folder)
    expect(added).toEqual({ 'prisma/schema.prisma': `\n${MODEL}` })
    expect(stdout).toContain('npx prisma db push')
  })

  it('puts the migrations beside a schema that has another name', async () => {
    const folder = project({
      'package.json': PRISMA.replace('{', '{"prisma":{"schema":"db/main.prisma"},'),
      'db/main.prisma': 'datasource db {\n  provider = "postgresql"\n}\n',
    })
    expect((await init(folder)).names).toContainEqual(
      expect.stringMatching(/^db\/migrations\/\d+_create_shedlock\/migration\.sql$/),
    )
  })

  it('dates the migration behind the newest', async () => {
    const folder = project({
      'package.json': PRISMA,
      'prisma/schema.prisma': SCHEMA,
      'prisma/migrations/99991231235958_last/migration.sql': 'create table users ()',
    })
    expect((await init(folder)).names).toContain(
      'prisma/migrations/99991231235959_create_shedlock/migration.sql',
    )
  })

  it('names the file of the variable that the schema names', async () => {
    const files = { '.env': 'POSTGRES_URL=postgres://localhost/app\n', 'prisma/schema.prisma': SCHEMA }
    const { stdout } = await init(project({ 'package.json': PRISMA, ...files }))
    expect(stdout).toContain('npx shedlock-orm doctor --env .env\n')
  })

  it('adds the contract of Prisma 8', async () => {
    const folder = project({
      'package.json': packageWith({ '@prisma/orm-postgres': '8.0.0-rc.13', prisma: '8.0.0-rc.19' }),
      'src/prisma/contract.prisma': USER,
    })
    const { added, stdout } = await init(folder)
    expect(added['src/prisma/contract.prisma']).toMatch(/^\n.*model ShedLock \{/s)
    expect(stdout).toContain("'shedlock-orm/prisma-8'")
    expect((await init(folder)).added).toEqual({})
  })

  it.each<[string, Files, string[], RegExp]>([
    [
      'without an ORM',
      { 'package.json': packageWith({ pg: '8' }) },
      [],
      /names neither typeorm nor @prisma\/client – for other clients/,
    ],
    [
      'at the root of a monorepo',
      { 'package.json': '{}', 'apps/api/package.json': TYPEORM, 'apps/web/package.json': '{}' },
      [],
      /but there is an ORM in apps\/api: run the command there/,
    ],
    [
      'with two ORMs',
      { 'package.json': packageWith({ typeorm: '1.1.1', '@prisma/client': '7.10.0' }) },
      [],
      /has typeorm and prisma – name one: shedlock-orm init typeorm/,
    ],
    [
      'with an older ORM',
      { 'package.json': packageWith({ typeorm: '^0.2.45' }) },
      [],
      /typeorm 0\.2\.45 is too old – shedlock-orm works with \^0\.3\.20 \|\| \^1\.0\.0/,
    ],
    [
      'with several schemas, of which none is named',
      { 'a/a.prisma': SCHEMA, 'b/b.prisma': SCHEMA.replace(/model \w+/, 'model Other') },
      [],
      /several Prisma schemas with different models: a\/a\.prisma, b\/b\.prisma – name one/,
    ],
    [
      'that names a schema which does not exist',
      { 'package.json': PRISMA.replace('{', '{"prisma":{"schema":"gone.prisma"},') },
      [],
      /names, gone\.prisma, does not exist/,
    ],
    ['without a schema', {}, [], /There is no Prisma schema in this folder – run `npx prisma init`/],
    [
      'with MongoDB',
      { 'prisma/schema.prisma': SCHEMA.replace('postgresql', 'mongodb') },
      [],
      /'mongodb' of prisma\/schema\.prisma cannot keep locks/,
    ],
    [
      'with several schemas of the database, unless one is named',
      {
        'prisma/schema.prisma': SCHEMA.replace('url   ', 'schemas = ["a", "b"]\n  url '),
      },
      [],
      /has the schemas a, b – name that of the lock table with --schema/,
    ],
    [
      'whose migrations are for another database',
      { 'prisma/schema.prisma': SCHEMA, 'old/migration_lock.toml': 'provider = "sqlite"\n' },
      ['--migrations', 'old'],
      /old\/migration_lock\.toml is for sqlite, but prisma\/schema\.prisma is for postgresql/,
    ],
    [
      'with a schema on MySQL',
      { 'prisma/schema.prisma': SCHEMA.replace('postgresql', 'mysql') },
      ['--schema', 'ops'],
      /no schema, .* in 'ops' .* `npx shedlock-orm sql mysql --schema ops`/,
    ],
    [
      'with a config that only its own Prisma can read',
      { 'prisma.config.ts': '', 'prisma/schema.prisma': SCHEMA },
      [],
      /prisma\.config\.ts can be read only with the project's own Prisma – install/,
    ],
  ])('refuses a project %s', async (_, files, args, message) => {
    const { status, stderr, added } = await init(project({ 'package.json': PRISMA, ...files }), ...args)
    expect({ status, added }).toEqual({ status: 2, added: {} })
    expect(stderr).toMatch(message)
  })
})

describe('shedlock-orm init', () => {
  it.each<[string, Files, boolean]>([
    [
      'in a workspace',
      { 'package.json': JSON.stringify({ workspaces: ['apps/*'], dependencies: { typeorm: '1.1.1' } }) },
      true,
    ],
    [
      'in a workspace of pnpm',
      { 'package.json': packageWith({ typeorm: '1.1.1' }), 'pnpm-workspace.yaml': '', 'pnpm-lock.yaml': '' },
      true,
    ],
    ['in a folder above that is no workspace', { 'package.json': packageWith({ typeorm: '1.1.1' }) }, false],
  ])('finds the packages that the root names, %s', async (_, files, finds) => {
    const nest = { '@nestjs/core': '11', '@nestjs/schedule': '5' }
    const folder = project({ ...files, 'apps/api/package.json': packageWith(nest) })
    const { status, stdout } = await init(join(folder, 'apps/api'))
    expect(status).toBe(finds ? 0 : 2)
    if (finds) expect(stdout).toContain('ShedLockModule')
    if ('pnpm-lock.yaml' in files) expect(stdout).toContain('pnpm add cron')
  })

  it('reads the scheduler of the member that has the migrations, at the root of a workspace', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['api'], dependencies: { typeorm: '0.3.20' } }),
      'api/package.json': packageWith({ '@nestjs/core': '11', '@nestjs/schedule': '5', cron: '3' }),
      'api/src/migrations/1715028537217-CreateUser.ts': migration(1715028537217),
    })
    const { stdout, stderr } = await init(folder)
    expect(stderr).toContain('@nestjs/schedule 5')
    expect(stdout).toContain('ShedLockModule')
    expect(stdout).not.toContain('Install')
  })

  it('reads the scheduler of the root, if a library of a monorepo has only the schema, and names that', async () => {
    const folder = project(
      {
        'package.json': packageWith({
          '@prisma/client': '6.19.0',
          '@nestjs/core': '11',
          '@nestjs/schedule': '6',
        }),
        'libs/database/package.json': packageWith({ tslib: '2' }),
        'libs/database/prisma/schema.prisma': SCHEMA,
      },
      '@nestjs/schedule',
    )
    const { stdout } = await init(folder)
    expect(stdout).toContain('ShedLockModule')
    expect(stdout).toMatch(
      /deploy (--schema libs\/database\/prisma\/schema\.prisma) && npx prisma generate \1\n/,
    )
    const { dependencies } = JSON.parse(read('node_modules/@nestjs/schedule/package.json')) as {
      dependencies: Files
    }
    expect(stdout).toContain(`npm install cron@${dependencies['cron']}\n`)
  })

  it.each([
    ['@prisma/adapter-pg', '', /connectionTimeoutMillis: 4_000, query_timeout: 4_000` in/],
    ['@prisma/adapter-mariadb', '', /connectTimeout: 4_000, socketTimeout: 4_000` in/],
    ['@prisma/adapter-pg', 'new PrismaPg({ connectionTimeoutMillis: 1 })', undefined],
    ['@prisma/adapter-better-sqlite3', '', undefined],
  ])('prints the limits that an adapter lacks: %s %s', async (adapter, source, limits) => {
    const files = { 'package.json': packageWith({ '@prisma/client': '7.10.0', [adapter]: '7.10.0' }) }
    const { stdout } = await init(
      project({ ...files, 'prisma/schema.prisma': SCHEMA, 'src/prisma.ts': source }),
    )
    if (limits) expect(stdout).toMatch(limits)
    else expect(stdout).not.toContain('Timeout')
  })

  it("prints the package manager's command, unless the package is installed", async () => {
    const dependencies = { typeorm: '1.1.1', '@nestjs/core': '12', '@nestjs/schedule': '12' }
    const files = { 'package.json': JSON.stringify({ dependencies }), 'pnpm-lock.yaml': '' }
    expect((await init(project(files))).stdout).toContain('pnpm add shedlock-orm cron\n')
    const missing = { 'package.json': packageWith(dependencies) }
    expect((await init(project(missing))).stdout).toContain('1. Install cron:\n\n   npm install cron\n')
    expect((await init(project({ 'package.json': TYPEORM }))).stdout).not.toContain('Install')
  })

  it.each<[string, Files, string[], string]>([
    ['none', { '@prisma/client': '6.9.0' }, [], 'npm install -D pg\n   npx shedlock-orm doctor\n'],
    [
      'an adapter',
      { '@prisma/client': '7.10.0', '@prisma/adapter-pg': '7.10.0' },
      [],
      '\n\n   npx shedlock-orm doctor\n',
    ],
    [
      'the driver of another package',
      { '@prisma/client': '6.9.0' },
      ['pg'],
      '\n\n   npx shedlock-orm doctor\n',
    ],
  ])(
    'prints how to install the driver of the command line for Prisma with %s',
    async (_, dependencies, packages, command) => {
      const files = { 'package.json': packageWith(dependencies), 'prisma/schema.prisma': SCHEMA }
      expect((await init(project(files, ...packages))).stdout).toContain(command)
    },
  )
})

/** What the printed lines take for granted, and the types of packages that are not installed here. */
const TAKEN_FOR_GRANTED = `import type { DataSource } from 'typeorm'
import type { Cron as CronOfNest } from '@nestjs/schedule'
import type { PrismaClientLike } from 'shedlock-orm/prisma'
import type { Prisma8ClientLike } from 'shedlock-orm/prisma-8'
declare global {
  const dataSource: DataSource
  const prisma: PrismaClientLike & { $disconnect(): Promise<void> }
  const db: Prisma8ClientLike
  const Cron: typeof CronOfNest
  const app: { enableShutdownHooks(): unknown }
  function defineTask(task: { meta: object; run(): Promise<object> }): object
  const nitroApp: { hooks: { hook(name: 'close', callback: () => Promise<void>): void } }
  function sendReport(signal?: AbortSignal): Promise<void>
}
`
const NODE_SCHEDULE = `declare module 'node-schedule' {
  export function scheduleJob(rule: string, callback: (fireDate: Date) => void): { cancel(): boolean }
}
`
const SCHEDULERS: Readonly<Record<SchedulerName, string>> = {
  'node-cron': '4.6.0',
  croner: '10.0.1',
  'node-schedule': '2.1.1',
  cron: '4.4.0',
  'toad-scheduler': '4.1.0',
  bree: '9.2.9',
  '@nestjs/schedule': '12.0.2',
}
/** What has its own signal handlers, or none at all. */
const WITHOUT_SCHEDULER = [
  ['none', ''],
  ['next', '16.0.0'],
  ['nuxt', '4.0.0'],
] as const
/** Each ORM with what it needs in a project. */
const ORMS: readonly (readonly [dependencies: Files, files: Files])[] = [
  [{ typeorm: '1.1.1' }, {}],
  [{ '@prisma/client': '7.10.0' }, { 'prisma/schema.prisma': SCHEMA }],
  [{ '@prisma/orm-postgres': '8.0.0-rc.13' }, { 'contract.prisma': USER }],
]

describe('the lines that shedlock-orm init prints', () => {
  const printed = async (dependencies: Files, files: Files): Promise<string> => {
    const folder = project({ 'package.json': packageWith(dependencies), ...files })
    const { stdout } = await init(folder, '--dry-run')
    const [, code = ''] = /\n\d\. (?:Lock|Import)[^\n]*\n\n(.*?)\n\n\d\. Check/s.exec(stdout) ?? []
    return code.replace(/^ {3}/gm, '')
  }

  it('compile, for each ORM and scheduler, and name them', async () => {
    const folder = temporaryFolder(join(root, '.programs-'))
    const programs = ORMS.flatMap(([orm, files]) =>
      [...Object.entries(SCHEDULERS), ...WITHOUT_SCHEDULER].map(
        async ([scheduler = '', version = ''], index) => {
          const nest = scheduler === '@nestjs/schedule' ? { '@nestjs/core': '12', cron: '4.4.0' } : {}
          const dependencies = { ...orm, ...nest, ...(version !== '' && { [scheduler]: version }) }
          const code = await printed({ ...dependencies, typescript: '6.0.3' }, files)
          const name = `${Object.keys(orm)[0]?.replaceAll(/\W/g, '-')}-${index}.mts`
          writeFileSync(join(folder, name), code)
          if (!['none', 'next', 'nuxt', 'bree', '@nestjs/schedule'].includes(scheduler))
            expect(code).toContain(`from '${scheduler}'`)
          return name
        },
      ),
    )
    const written = await Promise.all(programs)
    writeFileSync(join(folder, 'globals.ts'), TAKEN_FOR_GRANTED)
    writeFileSync(join(folder, 'node-schedule.d.ts'), NODE_SCHEDULE)
    const compilerOptions = { module: 'esnext', moduleResolution: 'bundler', experimentalDecorators: true }
    const files = ['globals.ts', 'node-schedule.d.ts', ...written]
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: [], files }),
    )
    const tsc = join(root, 'node_modules/typescript-7/bin/tsc')
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.json'], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(stdout).toBe('')
  })

  it.each([
    ['node-cron', '2.0.3', /lockAtLeastFor: '1m'.*job\.stop\(\)/s],
    ['node-cron', '3.0.3', /slot: \(now\) => Math.*job\.stop\(\)/s],
    ['node-cron', '4.0.0', /slot: slotOf,.*await job\.destroy\(\)/s],
    ['croner', '9.1.0', /slot: \(job\) => slotOf\(job\)/],
    ['cron', '3.5.0', /slotOf\(job\.cronTime\),.*function \(\) \{ return send\(this\) \}, null, true\)/s],
    ['cron', '2.4.4', /slotOf\(job\.cronTime\),.*function \(\) \{ return send\(this\) \}, null, true\)/s],
    ['cron', '2.2.0', /lockAtLeastFor: '1m', \/\/ less than .*new CronJob\('[^']*', send, null, true\)/s],
    [
      'bree',
      '9.2.9',
      /async function main\(\) \{\n {2}\/\/.*\n {2}await executor\.executeWithLock.*\nmain\(\)/s,
    ],
  ])('fit the version: %s %s, in a project without TypeScript', async (scheduler, version, lines) => {
    const code = await printed({ typeorm: '1.1.1', [scheduler]: version }, {})
    expect(code).toMatch(lines)
    expect(code).not.toContain('type ')
    expect(code).toContain("require('shedlock-orm')")
    expect(code).not.toContain('import ')
  })

  it.each<[string, Files]>([
    ['whose type is module', { 'package.json': packageWith({ typeorm: '1.1.1' }, { type: 'module' }) }],
    ['whose files do', { 'package.json': TYPEORM_ONLY, 'a.js': "import x from 'x'\n", 'b.js': '' }],
    ['with TypeScript', { 'package.json': TYPEORM_ONLY, 'a.ts': '' }],
  ])('import in a project %s', async (_, files) => {
    const { stdout } = await init(project(files), '--dry-run')
    expect(stdout).toContain("import { typeOrmLockProvider } from 'shedlock-orm/typeorm'")
    expect(stdout).not.toContain('require(')
  })

  it('share the executor and end the process under Next.js, which otherwise ends first', async () => {
    const code = await printed({ typeorm: '1.1.1', next: '16.0.0', 'node-cron': '4.6.0' }, {})
    expect(code).toContain('const executor = (globalThis.executor ??= new LockingTaskExecutor(')
    expect(code).toMatch(/NEXT_MANUAL_SIG_HANDLE=1.*await dataSource\.destroy\(\)\n {2}process\.exit\(0\)/s)
  })

  it.each(['nuxt', 'nitropack'])(
    'compute the slot of a task and shut down with the server: %s',
    async (name) => {
      const code = await printed({ typeorm: '1.1.1', [name]: '1.0.0' }, {})
      expect(code).toContain("slotOf(new Cron('*/15 * * * *', { paused: true }))")
      expect(code).toMatch(
        /hook\('close', async \(\) => \{\n {2}await executor\.shutdown\(\)\n {2}await dataSource/,
      )
      expect(code).not.toMatch(/setInterval|SIGTERM/)
    },
  )
})
