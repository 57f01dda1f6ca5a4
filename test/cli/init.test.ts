import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { SchedulerName } from '../../src/cli/init/usage'
import { prismaMigration, prismaModel } from '../../src/prisma/prisma-model'
import { read, root } from '../project'
import { temporaryFolder } from '../temporary-folder'
import { projectWith, runCli } from './built-cli'

type Files = Readonly<Record<string, string>>

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

/** Runs the command and returns what it added, by the names of files without their dates. It never changes what was there. */
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

/** What the compiler says about a project. */
function tsc(cwd: string): string {
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc')
  return spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json'], { cwd, encoding: 'utf8' }).stdout
}

const CLASS = `import { createShedLockMigration } from 'shedlock-orm/typeorm'

export class CreateShedLockDATE extends createShedLockMigration() {
  override name = 'CreateShedLockDATE'
}
`
const OLD = '1715028537217'
const ALREADY = 'already has the table, so it is left as it is'

describe('shedlock-orm init with TypeORM', () => {
  it.each<[string, Files, Files, string[]?, string[]?]>([
    [
      'beside the other migrations',
      { [`src/db/${OLD}-User.ts`]: '' },
      { 'src/db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'with the separator of their names',
      { [`db/${OLD}_user.ts`]: '' },
      { 'db/DATE_CreateShedLock.ts': CLASS },
    ],
    [
      "as the project's Prettier is configured",
      { '.prettierrc': '{ "tabWidth": 4, "singleQuote": true }', [`db/${OLD}-User.ts`]: '' },
      { 'db/DATE-CreateShedLock.ts': CLASS.replace(/'$/gm, "';").replaceAll('  ', '    ') },
      ['prettier'],
    ],
    [
      'as JavaScript with require',
      { [`db/${OLD}-User.js`]: '' },
      {
        'db/DATE-CreateShedLock.js': CLASS.replace('import {', 'const {')
          .replace("from 'shedlock-orm/typeorm'", "= require('shedlock-orm/typeorm')")
          .replace('export class', 'exports.CreateShedLockDATE = class')
          .replace('override ', ''),
      },
    ],
    [
      'into a folder that is called migrations',
      { 'src/db/migrations/index.ts': '' },
      { 'src/db/migrations/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'beside a file that only mentions the table, or has the class in a comment',
      {
        [`db/${OLD}-shedlock.ts`]: `// ${CLASS.replaceAll('\n', '\n// ')}\n/**\n * createShedLockMigration()\n */`,
      },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'beside a file whose name means something to a regular expression',
      { [`db/${OLD}-Add(users)+[x.ts`]: '' },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'beside a run that did not end',
      { [`db/${OLD}-User.ts`]: '', [`db/${OLD}-CreateShedLock.ts.new`]: 'import { crea' },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'but not into the folder of a test, or of what is built',
      { [`test/migrations/${OLD}-A.ts`]: '', [`dist/db/${OLD}-A.js`]: '', [`db/${OLD}-A.ts`]: '' },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'for each database of the folder that is named, whatever the folders are called',
      { [`db/planetscale/${OLD}-A.ts`]: '', [`db/sql/${OLD}-A.ts`]: '' },
      { 'db/planetscale/DATE-CreateShedLock.ts': CLASS, 'db/sql/DATE-CreateShedLock.ts': CLASS },
      [],
      ['--migrations', 'db/'],
    ],
    [
      'for each folder that is named',
      { [`a/${OLD}-A.ts`]: '', [`b/${OLD}-A.ts`]: '', [`c/${OLD}-A.ts`]: '' },
      { 'a/DATE-CreateShedLock.ts': CLASS, 'new/DATE-CreateShedLock.ts': CLASS },
      [],
      ['--migrations', './a', '--migrations', 'new'],
    ],
  ])('writes the migration %s', async (_, files, added, packages = [], args = []) => {
    const folder = project({ 'package.json': TYPEORM, ...files }, ...packages)
    const dry = await init(folder, '--dry-run', ...args)
    expect(dry).toMatchObject({ status: 0, added: {} })
    for (const [file, text] of Object.entries(added)) {
      expect(dry.stdout.replace(/\d{13}/g, 'DATE')).toContain(`Would write ${file}:`)
      expect(dry.stdout.replace(/\d{13}/g, 'DATE')).toContain(text.trim().replace(/^(?=.)/gm, '  '))
    }
    const written = await init(folder, ...args)
    expect(written.added).toEqual(added)
    // TypeORM refuses two of one name, and a DataSource may load several folders.
    const dates = written.names.map((name) => /\d{13}/.exec(name)?.[0])
    expect(new Set(dates).size).toBe(dates.length)
    const again = await init(folder, ...args)
    expect(again).toMatchObject({ status: 0, added: {} })
    expect(again.stderr).toContain(ALREADY)
  })

  it('finds the table in the list of the DataSource', async () => {
    const list = 'migrations: [\n  createShedLockMigration({\n    tableName: "locks",\n  }),\n],'
    const folder = project({ 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '', 'source.ts': list })
    expect(await init(folder, '--table-name', 'locks')).toMatchObject({
      ...{ status: 0, added: {} },
      stderr: expect.stringContaining(`source.ts ${ALREADY}`),
    })
    expect((await init(folder)).added).toEqual({ 'db/DATE-CreateShedLock.ts': CLASS })
  })

  it('asks for the folders if there are several, and never says that all is done', async () => {
    const [cockroach, mysql] = ['db/cockroachdb', 'db/mysql']
    const folder = project({
      'package.json': TYPEORM,
      [`${cockroach}/${OLD}-A.ts`]: '',
      [`${mysql}/${OLD}-A.ts`]: '',
      [`seeds/${OLD}-A.ts`]: '',
    })
    expect(await init(folder)).toMatchObject({
      ...{ status: 2, added: {} },
      stderr: expect.stringMatching(
        /in db\/cockroachdb, db\/mysql, seeds – name those .* --migrations, which/,
      ),
    })
    const names = ['--table-name', 'job_locks', '--schema', 'ops']
    const { added, stdout } = await init(folder, '--migrations', mysql, ...names)
    const options = "{ schema: 'ops', tableName: 'job_locks' }"
    const text = CLASS.replace('Migration()', `Migration(${options})`)
    expect(added).toEqual({ [`${mysql}/DATE-CreateShedLock.ts`]: text })
    expect(stdout).toContain(`typeOrmLockProvider(dataSource, ${options})`)
    // Another table than the first.
    expect(Object.keys((await init(folder, '--migrations', mysql)).added)).toHaveLength(1)
    expect(await init(folder)).toMatchObject({
      ...{ status: 2, added: {} },
      stderr: expect.stringContaining('in db/cockroachdb, seeds –'),
    })
  })

  it('dates the migration today, or behind the newest', async () => {
    const from = Date.now()
    const [today = ''] = (await init(project({ 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '' }))).names
    const date = Number(/\d{13}/.exec(today)?.[0])
    expect(date).toBeGreaterThanOrEqual(from)
    expect(date).toBeLessThanOrEqual(Date.now())
    const later = project({ 'package.json': TYPEORM, 'db/9715028537217-A.ts': '' })
    const { names, stdout } = await init(later)
    expect(names).toEqual(['db/9715028537218-CreateShedLock.ts'])
    expect(stdout).toContain('and one with `synchronize: true` lists shedLockEntity().')
  })

  it('prints the migration and the entity to list if there is no folder', async () => {
    const { added, stdout } = await init(project({ 'package.json': TYPEORM }))
    expect(added).toEqual({})
    expect(stdout).toContain('const migrations = [createShedLockMigration()]')
    expect(stdout).toContain('with `synchronize: true` list the entity instead')
    expect(stdout).toContain('start, or on one of them (docs/tables.md#when-every-instance-migrates).')
  })

  it.each([
    ['tsx', ''],
    ['ts-node', ''],
    ['typescript', 'npm install -D tsx\n   '],
  ])('prints how to check with the DataSource, and the name that it has, with %s', async (name, install) => {
    const files = {
      'package.json': packageWith({ typeorm: '1.1.1', [name]: '1.0.0' }, { type: 'commonjs' }),
      'src/data-source.ts': 'export const AppDataSource: DataSource = new DataSource({})',
    }
    const { stdout } = await init(project(files))
    expect(stdout).toContain(`\n\n   ${install}npx shedlock-orm doctor -d src/data-source.ts\n`)
    expect(stdout).toContain("import { AppDataSource } from './data-source' // in src\n")
    expect(stdout).toContain('typeOrmLockProvider(AppDataSource)')
    expect(stdout).toContain('await AppDataSource.destroy()')
  })

  it.each([
    ['as the scripts name it', 'ts-node typeorm migration:run -d db/connection.ts', ' -d db/connection.ts'],
    ['not the file of the app, which it would start', 'ts-node src/main.ts', ''],
  ])('checks with the DataSource %s', async (_, migrate, option) => {
    const files = {
      'package.json': packageWith({ typeorm: '1.1.1', tsx: '4' }, { scripts: { migrate } }),
      'db/connection.ts': '',
      'src/main.ts': 'export const source = new DataSource({})\napp.listen(3000)',
    }
    expect((await init(project(files))).stdout).toContain(`npx shedlock-orm doctor${option}\n`)
  })

  it('checks with the tsconfig with which the scripts run ts-node', async () => {
    const migrate =
      'ts-node -r tsconfig-paths/register --project server/tsconfig.json typeorm -d db/connection.ts'
    const dependencies = { typeorm: '1.1.1', 'ts-node': '10' }
    const files = {
      'package.json': packageWith(dependencies, { scripts: { migrate } }),
      'db/connection.ts': '',
    }
    expect((await init(project(files))).stdout).toContain('\n   TS_NODE_PROJECT=server/tsconfig.json npx')
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
/** As Prisma 7 wants it. */
const VALID = SCHEMA.replace(/ *(\/\/ )?url .*\n/g, '').replace(
  'prisma-client"',
  'prisma-client"\n  output = "../client"',
)
const USER = '\nmodel User {\n  id Int @id\n}\n'
const MIGRATION = 'migrations/DATE_create_shedlock/migration.sql'
const USUAL = 'prisma/schema.prisma'
const LOCK_FILE = 'prisma/migrations/migration_lock.toml'
const LOCK = 'provider = "postgresql"\n'
const MODEL = prismaModel('postgresql')
const SQL = prismaMigration('postgresql')

describe('shedlock-orm init with Prisma', () => {
  it.each<[string, Files, Files, string[]?]>([
    [
      'after prisma init, beside a client that is no config',
      { [USUAL]: SCHEMA, 'prisma.ts': '' },
      {
        [USUAL]: `\n${MODEL}`,
        [`prisma/${MIGRATION}`]: SQL,
        [LOCK_FILE]: `# Please do not edit this file manually\n${LOCK}`,
      },
    ],
    [
      "beside other migrations, whose lock it leaves alone, with the provider's other name",
      {
        [USUAL]: SCHEMA.replace('postgresql', 'postgres') + USER.trimEnd(),
        [LOCK_FILE]: LOCK,
        'prisma/migrations/20240101000000_users/migration.sql': 'create table users ()',
      },
      { [USUAL]: `\n\n${MODEL}`, [`prisma/${MIGRATION}`]: SQL },
    ],
    [
      'into a file of its own, if the schema has several',
      { 'prisma/schema/schema.prisma': SCHEMA, 'prisma/schema/user.prisma': USER, [LOCK_FILE]: LOCK },
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
    [
      'into a folder of files that has another name',
      {
        'libs/db/models/main.prisma': SCHEMA,
        'libs/db/models/user.prisma': USER,
        'libs/db/migrations/migration_lock.toml': LOCK,
      },
      { 'libs/db/models/shedlock.prisma': MODEL, [`libs/db/${MIGRATION}`]: SQL },
    ],
    [
      'although comments contain both',
      {
        [USUAL]: `${SCHEMA}${USER}${MODEL.replace(/^/gm, '// ')}\n/*\n${MODEL}*/\n`,
        'prisma/migrations/20240101000000_users/migration.sql': SQL.replace(/^/gm, '-- '),
        [LOCK_FILE]: LOCK,
      },
      { [USUAL]: `\n${MODEL}`, [`prisma/${MIGRATION}`]: SQL },
    ],
    [
      'although a table has a similar name',
      {
        [USUAL]: `${SCHEMA}${USER}`,
        'prisma/migrations/20240101000000_users/migration.sql':
          'CREATE TABLE "shedlock_old" (x int); create table "app"."shedlocks" (shedlock int)',
        [LOCK_FILE]: LOCK,
      },
      { [USUAL]: `\n${MODEL}`, [`prisma/${MIGRATION}`]: SQL },
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
  const ON_POSTGRES: Files = { [USUAL]: SCHEMA + USER, [LOCK_FILE]: LOCK }

  it.each<[string, Files, Files, RegExp?]>([
    ['beside the usual one', ON_POSTGRES, ADDED_ON_SQLITE],
    [
      'named after its database',
      { 'db/postgres-schema.prisma': SCHEMA + USER, 'db/postgres-migrations/migration_lock.toml': LOCK },
      ADDED_ON_SQLITE,
    ],
    [
      'but not of other models, which it names',
      {
        ...ON_POSTGRES,
        'prisma-sqlite/schema.prisma': `${ON_SQLITE['prisma-sqlite/schema.prisma'] ?? ''}\nmodel Other {\n}\n`,
      },
      {},
      /prisma-sqlite\/schema\.prisma is left as it is: name its migrations with --migrations/,
    ],
  ])('writes the schema of the same models for another database, %s', async (_, files, added, says = /^/) => {
    const folder = project({ 'package.json': PRISMA, ...ON_SQLITE, ...files })
    const [schema = ''] = Object.keys(files)
    const migrations = schema.replace('schema.prisma', 'migrations')
    const first = await init(folder)
    expect(first.added).toEqual({
      [schema]: `\n${MODEL}`,
      [`${migrations}/DATE_create_shedlock/migration.sql`]: SQL,
      ...added,
    })
    expect(first.stderr).toMatch(says)
    // Prisma finds only a folder `migrations`.
    expect(first.stdout).toContain(schema === USUAL ? 'migrate deploy' : `as you run those in ${migrations}`)
    expect((await init(folder)).added).toEqual({})
  })

  it('writes the schema of the migrations that are named', async () => {
    const folder = project({ 'package.json': PRISMA, ...ON_SQLITE, ...ON_POSTGRES })
    const { added, stdout } = await init(folder, '--migrations', './prisma-sqlite/migrations/')
    expect(added).toEqual(ADDED_ON_SQLITE)
    expect(stdout).toContain(' --schema prisma-sqlite/schema.prisma')
  })

  it('writes only the model where the models were pushed', async () => {
    const folder = project({ 'package.json': PRISMA, [USUAL]: SCHEMA + USER })
    const { added, stdout } = await init(folder)
    expect(added).toEqual({ [USUAL]: `\n${MODEL}` })
    expect(stdout).toContain('npx prisma db push')
  })

  it('dates the migration behind the newest, and completes one that has no text', async () => {
    const folder = project({
      'package.json': PRISMA,
      [USUAL]: SCHEMA,
      'prisma/migrations/99991231235958_last/migration.sql': 'create table users ()',
    })
    const newest = 'prisma/migrations/99991231235959_create_shedlock/migration.sql'
    expect((await init(folder)).names).toContain(newest)
    writeFileSync(join(folder, newest), '')
    expect((await init(folder)).names).toEqual([newest])
  })

  it.each([
    ['.env', '--env .env'],
    ['prisma/.env', '--env prisma/.env'],
  ])('names the file of the variable that the schema names: %s', async (file, option) => {
    const files = { [file]: 'POSTGRES_URL=postgres://localhost/app\n', [USUAL]: SCHEMA }
    const { stdout } = await init(project({ 'package.json': PRISMA, ...files }))
    expect(stdout).toContain(`npx shedlock-orm doctor ${option}\n`)
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
      /names neither typeorm nor @prisma\/client – for other/,
    ],
    [
      'at the root of a monorepo',
      { 'package.json': '{}', 'apps/api/package.json': TYPEORM, 'apps/web/package.json': '{ template' },
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
      'with several schemas, of which none is named',
      { 'a/a.prisma': SCHEMA, 'b/b.prisma': `${SCHEMA}model Other {\n}\n` },
      [],
      /several .* with different models: a\/a\.prisma \(a\/migrations\), b\/b\.prisma \(b\/migrations\) – name/,
    ],
    [
      'that names a schema which does not exist',
      { 'package.json': PRISMA.replace('{', '{"prisma":{"schema":"gone.prisma"},') },
      [],
      /names, gone\.prisma, does not exist/,
    ],
    ['without a schema', {}, [], /There is no Prisma schema in this folder – run `npx prisma init`/],
    ['with MongoDB', { [USUAL]: SCHEMA.replace('postgresql', 'mongodb') }, [], /provider 'mongodb' – known/],
    [
      'with several schemas of the database, unless one is named',
      { [USUAL]: SCHEMA.replace('url   ', 'schemas = ["a", "b"]\n  url ') },
      [],
      /has the schemas a, b – name that of the lock table with --schema/,
    ],
    [
      'whose datasource lacks the schema',
      { [USUAL]: SCHEMA },
      ['--schema', 'ops'],
      /lacks the schema 'ops' – add it/,
    ],
    [
      'whose ShedLock is of another table',
      { [USUAL]: `${SCHEMA}${MODEL}` },
      ['--table-name', 'second'],
      /has a ShedLock of another table – .* sql postgresql/,
    ],
    [
      'whose migrations are in another folder than the one that is named',
      { [USUAL]: SCHEMA },
      ['--migrations', 'old'],
      /No Prisma schema has its migrations in old – there is prisma\/schema\.prisma \(prisma\/migrations\)/,
    ],
    [
      'with a config that only its own Prisma can read',
      { 'prisma.config.ts': '', [USUAL]: SCHEMA },
      [],
      /config of Prisma can be read only with the project's own Prisma – install/,
    ],
  ])('refuses a project %s', async (_, files, args, message) => {
    const { status, stderr, added } = await init(project({ 'package.json': PRISMA, ...files }), ...args)
    expect({ status, added }).toEqual({ status: 2, added: {} })
    expect(stderr).toMatch(message)
  })
})

/** Root may read and write everything, unless it gives that up. */
const AS_USER = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []

describe('what shedlock-orm init writes is valid', () => {
  it.each<[string, string, Files, string[]?]>([
    ['PostgreSQL', USUAL, {}],
    ['without a line end', USUAL, { [USUAL]: (VALID + USER).trimEnd() }],
    ['with line ends of Windows', USUAL, { [USUAL]: VALID.replaceAll('\n', '\r\n') }],
    ['with a comment at the end', USUAL, { [USUAL]: `${VALID}/* ${MODEL}*/ // model ShedLock {` }],
    ['in a folder', 'prisma/schema', { 'prisma/schema/a.prisma': VALID, 'prisma/schema/b.prisma': USER }],
    [
      'in a schema of the database',
      USUAL,
      { [USUAL]: VALID.replace('"postgresql"', '"postgresql"\n  schemas = ["public", "ops"]') },
      ['--schema', 'ops', '--column-names', 'lockUntil=until "it" ends'],
    ],
    ...['mysql', 'sqlite', 'sqlserver', 'cockroachdb'].map((provider): [string, string, Files] => [
      provider,
      USUAL,
      { [USUAL]: VALID.replace('postgresql', provider) },
    ]),
  ])('to Prisma: %s', async (_, schema, files, args = []) => {
    const folder = project({ 'package.json': PRISMA, [USUAL]: VALID, ...files })
    if (schema === 'prisma/schema') rmSync(join(folder, USUAL))
    expect((await init(folder, ...args)).status).toBe(0)
    const command = [require.resolve('prisma/build/index.js'), 'validate', '--schema', schema]
    // Without an engine, which it does not need for this.
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
    const { stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, env, encoding: 'utf8' })
    expect(stdout + stderr).toMatch(/(is|are) valid/)
  })

  it('to the compiler, in the strictest project', async () => {
    const folder = temporaryFolder(join(root, '.programs-'))
    const options = ['--schema', "o'ps", '--table-name', 'a "b" `c`', '--column-names', 'lockUntil=until']
    for (const [index, args] of [[], options].entries()) {
      const written = project({ 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '' })
      const [file = ''] = (await init(written, ...args)).names
      writeFileSync(join(folder, `${index}.ts`), readFileSync(join(written, file)))
    }
    const compilerOptions = { noImplicitOverride: true, noEmit: true }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: ['*.ts'] }),
    )
    expect(tsc(folder)).toBe('')
  })
})

describe('shedlock-orm init', () => {
  it.each<[string, Files, string]>([
    ['TypeORM', { 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '' }, 'wrote db/'],
    ['Prisma', { 'package.json': PRISMA, [USUAL]: SCHEMA + USER }, 'added the model to prisma/'],
  ])('leaves out what it may not read, with %s', async (_, files, says) => {
    const folder = project({ ...files, 'data/x.prisma': '', 'secret.ts': '' })
    chmodSync(join(folder, 'data'), 0)
    chmodSync(join(folder, 'secret.ts'), 0)
    const { status, stderr } = await runCli(['init'], { cwd: folder, under: AS_USER })
    chmodSync(join(folder, 'data'), 0o755)
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining(says) })
  })

  it('can be repeated after a folder was read-only', async () => {
    const folder = project({ 'package.json': PRISMA, [USUAL]: SCHEMA })
    const migrations = join(folder, 'prisma/migrations')
    mkdirSync(migrations)
    chmodSync(migrations, 0o555)
    const refused = await runCli(['init'], { cwd: folder, under: AS_USER })
    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/added the model.*\n.*cannot be written/),
    })
    chmodSync(migrations, 0o755)
    expect(Object.keys((await init(folder)).added)).toContain(`prisma/${MIGRATION}`)
    expect((await init(folder)).added).toEqual({})
  })

  it('follows a link to a schema, and none that leads in a circle', async () => {
    const folder = project({ 'package.json': PRISMA, 'db/schema.prisma': SCHEMA + USER })
    mkdirSync(join(folder, 'app'))
    symlinkSync('..', join(folder, 'app/up'))
    symlinkSync('gone', join(folder, 'app/gone'))
    symlinkSync('self', join(folder, 'app/self'))
    mkdirSync(join(folder, 'prisma'))
    symlinkSync('../db/schema.prisma', join(folder, USUAL))
    const { status, stderr } = await init(folder)
    expect(status).toBe(0)
    expect(stderr).not.toMatch(/app\/|left as it is/)
    expect(readFileSync(join(folder, 'db/schema.prisma'), 'utf8')).toContain(MODEL)
    expect(lstatSync(join(folder, USUAL)).isSymbolicLink()).toBe(true)
    expect((await init(folder)).added).toEqual({})
  })

  it('asks to be run where the schema is, and names the package with the jobs there', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['packages/*'], devDependencies: { prisma: '7' } }),
      'packages/db/package.json': packageWith({ '@prisma/client': '7', prisma: '7' }),
      'packages/db/prisma/schema.prisma': SCHEMA,
      'packages/client/package.json': packageWith({ '@prisma/client': '7' }),
      'packages/jobs/package.json': '{"dependencies":{"@prisma/client":"7","node-cron":"3.0.3"}}',
      'packages/web/package.json': packageWith({ croner: '10' }),
    })
    const run = (...path: string[]) => init(join(folder, ...path))
    const refused = (why: string) => ({ status: 2, added: {}, stderr: expect.stringContaining(why) })
    expect(await run()).toMatchObject(refused('that of a package – run this command there: cd packages/db'))
    for (const each of ['client', 'jobs'])
      expect(await run('packages', each)).toMatchObject(
        refused('but ../db/prisma/schema.prisma – run `npx shedlock-orm init prisma` where you run'),
      )
    const { status, stdout, stderr, added } = await run('packages/db')
    expect(status).toBe(0)
    expect(stdout).toContain('Install, in ../jobs:\n\n   npm install shedlock-orm\n')
    expect(Object.keys(added)).toContain(USUAL)
    expect(stderr).toContain('postgresql in prisma/schema.prisma, node-cron 3.0.3, in ../jobs\n')
    expect(stderr).toContain('there may be jobs in ../web, too\n')
    expect(stdout).toContain('Install, in ../jobs:\n\n   npm install shedlock-orm\n')
    expect(stdout).toMatch(/is to run, in \.\.\/jobs; .*const \{ schedule \} = require\('node-cron'/s)
  })

  it('asks to be run where the migrations are', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['*'] }),
      'jobs/package.json': TYPEORM,
      'web/package.json': packageWith({ croner: '10' }),
      [`db/migrations/${OLD}-A.ts`]: '',
    })
    expect((await init(join(folder, 'web'))).stderr).toContain('an ORM in ../jobs: run the command there')
    expect(await init(join(folder, 'jobs'))).toMatchObject({
      ...{ status: 2, added: {} },
      stderr: expect.stringContaining(
        'no migrations here, but in ../db/migrations – run this command in the package',
      ),
    })
  })

  it.each<[string, Files, boolean]>([
    [
      'in a workspace',
      { 'package.json': packageWith({ typeorm: '1.1.1' }, { workspaces: ['apps/*'] }) },
      true,
    ],
    [
      'of pnpm',
      { 'package.json': packageWith({ typeorm: '1' }), 'pnpm-workspace.yaml': '', 'pnpm-lock.yaml': '' },
      true,
    ],
    [
      'in a folder above that is no workspace',
      { 'package.json': packageWith({ typeorm: '1.1.1' }), 'pnpm-lock.yaml': '' },
      false,
    ],
  ])('finds the packages that the root names, %s', async (_, files, finds) => {
    const nest = { '@nestjs/core': '11', '@nestjs/schedule': '5' }
    const folder = project({ ...files, 'apps/api/package.json': packageWith(nest) })
    const { status, stdout } = await init(join(folder, 'apps/api'))
    expect(status).toBe(finds ? 0 : 2)
    if (finds) expect(stdout).toMatch(/SchedulerRegistry see docs\/nestjs\.md#dynamic-jobs-.*ShedLockModule/s)
    if ('pnpm-lock.yaml' in files) expect(stdout).toContain('pnpm add cron')
  })

  it('knows the scheduler of the root, if a library of a monorepo has only the schema, and names that', async () => {
    const nest = { '@prisma/client': '6.19.0', '@nestjs/core': '11', '@nestjs/schedule': '6' }
    const folder = project(
      {
        'package.json': packageWith(nest),
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

  it('prints an adapter for the locks, where that of the client hides its settings', async () => {
    const mariadb = packageWith({ '@prisma/client': '7', '@prisma/adapter-mariadb': '7' })
    const folder = project({ 'package.json': mariadb, [USUAL]: SCHEMA.replace('postgresql', 'mysql') })
    expect((await init(folder)).stdout).toContain('adapter: new PrismaMariaDb({')
  })

  it('prints how to install a driver for the command line, if Prisma has none', async () => {
    const files = { 'package.json': packageWith({ '@prisma/client': '6.9.0' }), [USUAL]: SCHEMA }
    const install = 'npm install -D pg\n   npx shedlock-orm doctor\n'
    expect((await init(project(files))).stdout).toContain(install)
    expect((await init(project(files, 'pg'))).stdout).not.toContain(install)
    const adapter = { 'package.json': packageWith({ '@prisma/client': '7', '@prisma/adapter-pg': '7' }) }
    expect((await init(project({ ...files, ...adapter }))).stdout).not.toContain(install)
  })
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
/** What has jobs or signal handlers of its own, or none at all, and schedulers that are too old. */
const OTHERS = [
  ...['none', ''],
  ...['next', '16.0.0'],
  ...['nuxt', '4.0.0'],
  ...['@nestjs/core', '12.0.0'],
  ...['cron', '3.5.0'],
  ...['croner', '5.0.0'],
]
/** Each ORM with what it needs in a project. */
const ORMS: readonly (readonly [dependencies: Files, files: Files])[] = [
  [{ typeorm: '1.1.1' }, {}],
  [{ '@prisma/client': '7.10.0' }, { [USUAL]: SCHEMA }],
  [{ '@prisma/orm-postgres': '8.0.0-rc.13' }, { 'contract.prisma': USER }],
]
const VERCEL = JSON.stringify({ crons: [{ path: '/api/report', schedule: '0 8 * * *' }] })

describe('the lines that shedlock-orm init prints', () => {
  const printed = async (dependencies: Files, files: Files): Promise<string> => {
    const folder = project({ 'package.json': packageWith(dependencies), ...files })
    const { stdout } = await init(folder, '--dry-run')
    const [, what = '', code = ''] =
      /\n\d\. ((?:Lock|Import)[^\n]*)\n\n(.*?)\n\n\d\. Check/s.exec(stdout) ?? []
    return `// ${what}\n${code.replace(/^ {3}/gm, '')}`
  }

  it('compile, for each ORM and scheduler, and name them, or a page that exists', async () => {
    const folder = temporaryFolder(join(root, '.programs-'))
    const others = OTHERS.flatMap((name, index) => (index % 2 === 0 ? [[name, OTHERS[index + 1] ?? '']] : []))
    const cases = ORMS.flatMap(([orm, files]) => [
      ...[...Object.entries(SCHEDULERS), ...others].map(([scheduler = '', version = '']) => ({
        orm,
        files,
        scheduler,
        version,
      })),
      { orm, files: { ...files, 'vercel.json': VERCEL }, scheduler: 'next', version: '16.0.0' },
    ])
    const programs = cases.map(async ({ orm, files, scheduler, version }, index) => {
      const nest = scheduler === '@nestjs/schedule' ? { '@nestjs/core': '12', cron: '4.4.0' } : {}
      const dependencies = { ...orm, ...nest, ...(version !== '' && { [scheduler]: version }) }
      const code = await printed({ ...dependencies, typescript: '6.0.3' }, files)
      const name = `${index}.mts`
      writeFileSync(join(folder, name), code)
      // What a route does not throw, it reports as done.
      expect(code.includes('onError')).toBe(!code.includes('GET()') && !code.includes('ShedLockModule'))
      const [, page, heading] = /see (docs\/[\w/-]+\.md)(?:#([\w-]+))?/.exec(code) ?? []
      if (page === undefined) expect(code).toMatch(new RegExp(`from '(${scheduler}|cron|croner)'`))
      else {
        const headings = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => text.toLowerCase())
        expect(headings.map((text) => text.replace(/[^\w -]/g, '').replaceAll(' ', '-'))).toContain(heading)
      }
      return name
    })
    const written = await Promise.all(programs)
    writeFileSync(join(folder, 'globals.ts'), TAKEN_FOR_GRANTED)
    writeFileSync(join(folder, 'node-schedule.d.ts'), NODE_SCHEDULE)
    const compilerOptions = { module: 'esnext', moduleResolution: 'bundler', experimentalDecorators: true }
    const files = ['globals.ts', 'node-schedule.d.ts', ...written]
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: [], files }),
    )
    expect(tsc(folder)).toBe('')
  })

  it.each([
    ['express', { express: '5', next: '16' }],
    ['fastify', { fastify: '5' }],
  ])('name the page about the server that has to end at SIGTERM, too: %s', async (server, dependencies) => {
    const code = await printed({ typeorm: '1.1.1', 'node-cron': '4.6.0', ...dependencies }, {})
    expect(code).toContain(`is to run (see docs/shutdown.md#${server} in`)
    expect(code).toContain('const end = async () => { // first close a server')
  })

  it.each([
    ['node-cron', '3.0.3', /slot: slotOf,.*job\.stop\(\)/s],
    ['croner', '9.1.0', /slot: \(job\) => slotOf\(job\)/],
    ['node-schedule', '2.1.1', /slot: \(due\) => due/],
  ])('are JavaScript in a project without TypeScript: %s %s', async (scheduler, version, lines) => {
    const code = await printed({ typeorm: '1.1.1', [scheduler]: version }, {})
    expect(code).toMatch(lines)
    expect(code).toContain('let ended\n')
    expect(code).toContain("require('shedlock-orm')")
    expect(code).not.toMatch(/^import /m)
    const asModule = packageWith({ typeorm: '1.1.1', [scheduler]: version }, { type: 'module' })
    expect((await init(project({ 'package.json': asModule }))).stdout).toContain("'shedlock-orm/typeorm'")
  })
})
