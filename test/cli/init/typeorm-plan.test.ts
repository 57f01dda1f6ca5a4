import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { project, type Texts } from '../built-cli'
import { init, OLD, packageWith, refused, TYPEORM } from './init-project'

const CLASS = `import { createShedLockMigration } from 'shedlock-orm/typeorm'

export class CreateShedLockDATE extends createShedLockMigration() {
  override name = 'CreateShedLockDATE'
}
`
const WITH_PRETTIER = packageWith({ typeorm: '^1.1.1', typescript: '^6.0.0', prettier: '3' })
const AS_MODULE = packageWith({ typeorm: '^1.1.1' }, { type: 'module' })
const ALREADY = 'already has the table, so it is left as it is'

describe('shedlock-orm init with TypeORM', () => {
  it.each<[string, Texts, Texts, string[]?, string[]?]>([
    [
      'with the separator of their names',
      { 'db/1015028537217-A.js': '', [`db/${OLD}_user.ts`]: '' },
      { 'db/DATE_CreateShedLock.ts': CLASS },
    ],
    [
      'with the ending that a DataSource may look for',
      {
        [`a/${OLD}-User.migration.ts`]: '',
        [`b/${OLD}-user-Migration.ts`]: '',
        [`c/${OLD}UserMigration.ts`]: '',
      },
      {
        'a/DATE-CreateShedLock.migration.ts': CLASS,
        'b/DATE-CreateShedLock-Migration.ts': CLASS,
        'c/DATECreateShedLockMigration.ts': CLASS,
      },
      [],
      ['--migrations', 'a', '--migrations', 'b', '--migrations', 'c'],
    ],
    [
      "as the project's Prettier is configured",
      {
        'package.json': WITH_PRETTIER,
        '.prettierrc': '{ "tabWidth": 4, "singleQuote": true }',
        [`db/${OLD}-User.ts`]: '',
      },
      { 'db/DATE-CreateShedLock.ts': CLASS.replace(/'$/gm, "';").replaceAll('  ', '    ') },
      ['prettier'],
    ],
    [
      'as JavaScript with require',
      { [`db/${OLD}-User.js`]: '' },
      {
        'db/DATE-CreateShedLock.js': CLASS.replace('import {', 'const {')
          .replace("from 'shedlock-orm/typeorm'", "= require('shedlock-orm/typeorm')")
          .replace('export class', 'module.exports = class')
          .replace('override ', ''),
      },
    ],
    [
      'as the default export, which a list of the app itself may import',
      { 'package.json': AS_MODULE, [`db/${OLD}-User.js`]: 'export default class User {}' },
      {
        'db/DATE-CreateShedLock.js': CLASS.replace('export class', 'export default class').replace(
          'override ',
          '',
        ),
      },
    ],
    [
      'with the name that all share, beside an index',
      {
        [`db/${OLD}-app.ts`]: '',
        'db/1715028537218-app.ts': '',
        'db/index.ts': '',
        'source.ts': "new DataSource({ migrations: ['db/*-app.ts'] })",
      },
      { 'db/DATE-app.ts': CLASS },
    ],
    [
      'but not with the name of the only one',
      { [`db/${OLD}-User.ts`]: '', 'a.ts': `({ migrations: [User${OLD}] }) // db/${OLD}-User.ts` },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'but not with a name that two have by chance',
      {
        [`db/${OLD}-consent.ts`]: '',
        'db/1715028537218-consent.ts': '',
        'a.ts': "({ migrations: ['db/*.ts'] })",
      },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'with the prefix that all classes share',
      {
        [`db/${OLD}-User.ts`]: `export class Migration${OLD} {`,
        'db/1715028537218-Role.ts': 'export class Migration1715028537218 {',
      },
      { 'db/DATE-CreateShedLock.ts': CLASS.replaceAll('CreateShedLockDATE', 'MigrationDATE') },
    ],
    [
      'into a folder with a migration of another name, not with scripts',
      {
        'src/db/User.ts': 'class User1 implements MigrationInterface {}',
        'src/runner.ts': 'class Runner { run() { return migration.up(queryRunner) } }',
        'src/new.ts': 'export const text = `class ${name} implements MigrationInterface { up(queryRunner) }`',
        'src/migrations/1_fill.ts': '',
      },
      { 'src/db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'beside a file that only mentions the table, or has the class in a comment',
      {
        [`db/${OLD}-shedlock.ts`]: `// ${CLASS.replaceAll('\n', '\n// ')}\n/**\n * createShedLockMigration()\n */`,
      },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'but not into the folder of a test, or of what is built',
      {
        [`test/db/${OLD}-A.ts`]: '',
        [`db-tests/${OLD}-A.spec.ts`]: '',
        [`db/first/${OLD}-A.ts`]: '',
        [`dist/db/${OLD}-A.js`]: '',
        [`db/${OLD}-A.ts`]: '',
      },
      { 'db/DATE-CreateShedLock.ts': CLASS },
    ],
    [
      'for each database of the folder that is named, whatever the folders are called',
      {
        [`db/planetscale/9.x/${OLD}-A.ts`]: '',
        'db/planetscale/10.x/1715028537218-B.ts': '',
        [`db/sql/${OLD}-A.ts`]: '',
      },
      { 'db/planetscale/10.x/DATE-CreateShedLock.ts': CLASS, 'db/sql/DATE-CreateShedLock.ts': CLASS },
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
    expect(dry).toMatchObject({ status: 0, names: [], stderr: expect.not.stringContaining('wrote') })
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
    expect(again).toMatchObject({ status: 0, names: [] })
    expect(again.stderr).toContain(ALREADY)
  })

  it('finds the table in the list of the DataSource', async () => {
    const list = 'migrations: [\n  createShedLockMigration({\n    tableName: "locks",\n  }),\n],'
    const folder = project({ 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '', 'source.ts': list })
    expect(await init(folder, '--table-name', 'locks')).toMatchObject({
      ...{ status: 0, names: [] },
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
    expect(await init(folder)).toEqual(
      refused(/in db\/cockroachdb, db\/mysql, seeds – name one for each database .* --migrations, which/),
    )
    const names = ['--table-name', 'job_locks', '--schema', 'ops']
    const { added, stdout } = await init(folder, '--migrations', mysql, ...names)
    const options = "{ schema: 'ops', tableName: 'job_locks' }"
    const text = CLASS.replace('Migration()', `Migration(${options})`)
    expect(added).toEqual({ [`${mysql}/DATE-CreateShedLock.ts`]: text })
    expect(stdout).toContain(`typeOrmLockProvider(dataSource, ${options})`)
    // Another table than the first.
    expect(Object.keys((await init(folder, '--migrations', mysql)).added)).toHaveLength(1)
    expect(await init(folder)).toEqual(refused('in db/cockroachdb, seeds –'))
  })

  it('dates the migration today, also before one that is last for ever', async () => {
    const from = Date.now()
    const { names, stdout } = await init(project({ 'package.json': TYPEORM, 'db/9999999999999-A.ts': '' }))
    const date = Number(/^db\/(\d{13})-CreateShedLock\.ts$/.exec(names[0] ?? '')?.[1])
    expect(date).toBeGreaterThanOrEqual(from)
    expect(date).toBeLessThanOrEqual(Date.now())
    expect(stdout).toContain("`synchronize: true` also lists shedLockEntity({ dialect: '<database>' }).")
    const mysql = {
      'package.json': TYPEORM,
      'a.ts': "new DataSource({ type: 'mysql' })",
      [`db/${OLD}-A.ts`]: '',
    }
    expect((await init(project(mysql), '--table-name', 'locks')).stdout).toContain(
      "also lists shedLockEntity({ tableName: 'locks', dialect: 'mysql' }).",
    )
  })

  it('prints the migration and the entity to list if there is no folder', async () => {
    const module = { 'src/migration/index.ts': '', 'src/migrations/migration.module.ts': '' }
    const { added, stdout } = await init(project({ 'package.json': TYPEORM, ...module }))
    expect(added).toEqual({})
    expect(stdout).toContain('const migrations = [createShedLockMigration()]')
    expect(stdout).toContain('Where `synchronize` is on, list the entity')
    expect(stdout).toContain('run it when you deploy (docs/tables.md#when-every-instance-migrates)')
    expect(stdout).not.toContain('as you run your others')
  })

  it.each([
    [`${OLD}-User`, ''],
    ['1_user', 'class User1 implements MigrationInterface {}'],
  ])('names the files that list the migrations by their paths, such as %s', async (name, migration) => {
    const line = `require("./db/${name}")`
    const files = { 'a.ts': `// x\n${line}\n`, 'db/index.ts': line, 'old.ts': `// ${line}\n` }
    const { stdout } = await init(
      project({ 'package.json': TYPEORM, [`db/${name}.ts`]: migration, ...files }),
    )
    expect(stdout).toMatch(
      /Add db\/\d{13}-CreateShedLock\.ts to a\.ts and db\/index\.ts, as the others are\.\n/,
    )
  })

  it.each([
    ["migrations: ['dist/migrations/*.js']", 'old (1)', true],
    ["migrations: ['dist/old (1)/*.js']", 'old (1)', false],
    ['migrations: []', 'migrations', true],
    ['entities: []', 'migrations', true],
    ["...optionsOf(join(__dirname, 'migrations'))", 'migrations', false],
  ])('says that no DataSource names the folder: %s, of %s', async (setting, name, says) => {
    const files = { 'a.ts': `new DataSource({ ${setting} })`, [`src/${name}/${OLD}-User.ts`]: '' }
    const { stdout } = await init(project({ 'package.json': TYPEORM, ...files }))
    expect(
      stdout.includes(`Check that your DataSource loads src/${name}: none was found that names it`),
    ).toBe(says)
  })

  it.each([
    ['mysql', [], "{ dialect: 'mysql' }"],
    // The entity refuses a schema without a dialect.
    ['postgres', ['--schema', 'ops'], "{ schema: 'ops', dialect: 'postgres' }"],
    ['better-sqlite3', [], "{ dialect: 'sqlite' }"],
  ])('prints the entity for %s with its dialect', async (type, args, options) => {
    const printed = async (rest = '') => {
      const module = `TypeOrmModule.forRoot({ type: '${type}'${rest} })`
      return (await init(project({ 'package.json': TYPEORM, 'src/app.module.ts': module }), ...args)).stdout
    }
    const stdout = await printed()
    expect(stdout).toContain(`const entities = [shedLockEntity(${options})]`)
    // One of two databases.
    expect(await printed(", type: 'oracle'")).toContain("dialect: '<database>'")
    const dialect = type === 'better-sqlite3' ? 'sqlite' : type
    const sql = ['npx shedlock-orm sql', dialect, ...args].join(' ')
    expect(stdout).toContain(`or create the table that \`${sql}\` prints`)
  })

  it('prints the entity with a place for a dialect that neither a type nor a driver shows, and no step for one that is listed', async () => {
    const source = (entities: string, driver: Texts = {}) => ({
      'package.json': packageWith({ typeorm: '^1.1.1', typescript: '^6.0.0', ...driver }),
      'src/data-source.ts': `new DataSource({ type: process.env.TYPE, entities: [${entities}] })`,
      'src/typeorm.test.config.ts': "({ type: 'sqljs' })",
    })
    for (const [driver, dialect] of [
      [{}, '<database>'],
      [{ pg: '8' }, 'postgres'],
      [{ mssql: '12' }, 'mssql'],
      [{ pg: '8', mysql2: '3' }, '<database>'],
    ] as const)
      expect((await init(project(source('', driver)))).stdout).toContain(
        `shedLockEntity({ dialect: '${dialect}' })`,
      )
    // The one that is named may be that of a DataSource for tests.
    for (const [driver, type, dialect] of [
      [{ sqlite3: '6', mysql2: '3' }, 'sqlite', '<database>'],
      [{ mysql2: '3' }, 'mariadb', 'mariadb'],
    ] as const)
      expect((await init(project(source(`], type: '${type}', x: [`, driver)))).stdout).toContain(
        `shedLockEntity({ dialect: '${dialect}' })`,
      )
    // As aligned settings are written, too.
    const aligned = await init(project(source("], type    : 'mysql', x: [")))
    expect(aligned.stdout).toContain("shedLockEntity({ dialect: 'mysql' })")
    const again = await init(project(source("shedLockEntity({ dialect: 'mysql' })")))
    expect(again.stdout).not.toMatch(/No folder of migrations|Run the migration/)
  })

  it('leaves out a folder of migrations that git ignores, and ends its lines as the others do', async () => {
    const old = 'export class Old1715028537217 {\n  up() {};\n}\n'
    const folder = project({
      ...{ 'package.json': TYPEORM, '.gitignore': 'lib/' },
      'src/migrations/1715028537217-Old.ts': old,
      'lib/migrations/1715028537217-Old.js': 'exports.Old = class {}',
    })
    spawnSync('git', ['init'], { cwd: folder })
    const { names, added } = await init(folder)
    expect(names).toEqual([expect.stringMatching(/^src\/migrations\/\d+-CreateShedLock\.ts$/)])
    expect(Object.values(added)[0]).toMatch(/typeorm';\n[^]*name = 'CreateShedLockDATE';\n/)
  })

  it('refuses a database without SQL', async () => {
    const module = "TypeOrmModule.forRoot({ type: 'mongodb' })"
    expect(await init(project({ 'package.json': TYPEORM, 'src/app.module.ts': module }))).toEqual(
      refused('it has no SQL: keep the locks in a SQL database'),
    )
  })

  it.each([
    ['export default new DataSource({})', true, 'dataSource'],
    ['const db = new DataSource({})\nexport default db;', true, 'db'],
    ['const db = new orm.DataSource({})\nmodule.exports = {\n  options,\n  db,\n}', true, 'db'],
    ['module.exports = new DataSource({})', true, 'dataSource'],
    ['exports.db = new orm.DataSource({})', true, 'db'],
    ['export const AppDataSource: DataSource = new DataSource({})', true, 'AppDataSource'],
    // Many write no semicolons.
    ['export const entities = []\nexport const db = new DataSource({})', true, 'db'],
    // Nothing to import.
    ['const db = new DataSource({})\nexport const other = 1', false, 'dataSource'],
    ['const db = new DataSource({})\nexport function use() {\n  return db\n}', false, 'dataSource'],
    ['export const connect = async () => {\n  db = new DataSource({})\n}', false, 'dataSource'],
    ['export const make = () => new DataSource({})', false, 'dataSource'],
  ])('prints the name that the file has for its DataSource: %s', async (text, isMade, name) => {
    const { stdout } = await init(project({ 'package.json': TYPEORM, 'src/datasource.ts': text }))
    // Only one that exists when the file is loaded.
    expect(stdout.includes('doctor -d src/datasource.ts')).toBe(isMade)
    const file = isMade ? ' (that of src/datasource.ts, if your app uses it)' : ''
    expect(stdout).toContain(`// and ${name}, your client${file}\n`)
    expect(stdout).toContain(`typeOrmLockProvider(${name})`)
  })

  it('names the file of the variable that the DataSource reads', async () => {
    const files = {
      'package.json': packageWith({ typeorm: '1.1.1', tsx: '4' }),
      'src/data-source.ts': 'export const db = new DataSource({ host: process.env.DB_HOST })',
      '.env': 'DB_HOST=db',
    }
    expect((await init(project(files))).stdout).toContain(
      '\n   npx shedlock-orm doctor -d src/data-source.ts --env .env\n',
    )
  })

  it.each([
    ['a.ts', TYPEORM, 'npm install -D ts-node\n   '],
    ['a.mts', TYPEORM, 'npm install -D tsx\n   '],
    ['a.ts', packageWith({ typeorm: '1.1.1', tsx: '4' }), ''],
    ['a.js', packageWith({ typeorm: '1.1.1' }), ''],
  ])(
    'installs what compiles the DataSource, if the project has nothing: %s',
    async (file, manifest, install) => {
      const source = 'export default new DataSource({})'
      expect((await init(project({ 'package.json': manifest, [file]: source }))).stdout).toContain(
        `(docs/cli.md#connection):\n\n   ${install}npx shedlock-orm doctor -d ${file}\n`,
      )
    },
  )

  it('lets Bun compile the DataSource of its projects', async () => {
    const files = { 'package.json': TYPEORM, 'bun.lock': '', 'a.ts': 'export default new DataSource({})' }
    expect((await init(project(files))).stdout).toContain(':\n\n   bunx --bun shedlock-orm doctor -d a.ts\n')
  })

  it.each([
    [
      ['ts-node typeorm migration:run -d db/connection.ts'],
      'connection, with the variables of the app set',
      ' -d db/connection.ts',
    ],
    [['typeorm -d not-in-git.ts'], 'connection, with the variables of the app set', ' -d not-in-git.ts'],
    [
      [
        'typeorm migration:generate -d "b.ts"',
        'typeorm migration:run -d dist/a.js',
        'typeorm migration:run -d dist/src/start.js',
        'typeorm query -d only-in-an-image.js',
      ],
      'connection, with the variables of the app set, after a build if it needs one; if that is not the database of the jobs, with b.ts',
      ' -d dist/a.js',
    ],
    // Neither with a file that connects, nor with that of the app, which it would start, nor with a logger.
    [
      ['typeorm migration:run -d src/start.ts', 'ts-node src/main.ts'],
      'connection, with DATABASE_URL set',
      '',
    ],
    [
      [],
      'connection, with the variables of the app set, after a build if it needs one; if that is not the database of the jobs, with ormconfig.js or a.ts',
      ' -d db-migration.config.js',
    ],
  ])(
    'checks with the DataSources of the scripts %j, or with all that are exported',
    async (lines, check, option) => {
      const exported: Texts = {
        'a.ts': 'export default new DataSource({})',
        'db-migration.config.js': 'exports.two = new DataSource({})',
        'ormconfig.js': 'exports.three = new DataSource({})',
      }
      const files = {
        'package.json': packageWith(
          { typeorm: '1.1.1', 'ts-node': '10' },
          { scripts: Object.fromEntries(lines.entries()) },
        ),
        'b.ts': '',
        'db/connection.ts': '',
        'src/start.ts': 'export const source = new DataSource({})\nsource.initialize()',
        'src/typeorm-logger.ts': '',
        'src/annotation/DataSource.ts': 'export const DataSource = () => SetMetadata()',
        'src/main.ts': 'export const source = new DataSource({})\napp.listen(3000)',
        ...(lines.length === 0 && exported),
      }
      expect((await init(project(files))).stdout).toContain(
        `${check} (docs/cli.md#connection):\n\n   npx shedlock-orm doctor${option}\n`,
      )
    },
  )
})
