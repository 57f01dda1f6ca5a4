import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { failed, project, runCli, type Texts } from './built-cli'

const backends = availableBackends('sqlite')

describeBackends(backends)('the command line finds the database, on $name', (backend) => {
  let url: string

  beforeEach(async () => {
    const { database, dataSource } = await openDatabase(backend)
    url = database.url
    const provider = typeOrmLockProvider(dataSource)
    await provider.table.create()
    await provider.lock({ name: 'found', lockAtMostFor: '1h' })
  })

  const schema = (line: string): string => `datasource db {\n  provider = "sqlite"\n  ${line}\n}\n`
  const config = `import { defineConfig, env } from 'prisma/config'
export default defineConfig({ schema: 'schema.prisma', datasource: { url: env('APP_DATABASE') } })`

  const NAMED = { 'prisma/schema.prisma': schema('url = env("APP_DATABASE")') }
  const VARIABLE = { APP_DATABASE: 'file:app.db' }

  it.each<[string, Texts, Texts?, ...string[]]>([
    ['in the variable that schema.prisma names', NAMED, VARIABLE],
    [
      'in the variable that schema.prisma names, in a file of variables',
      { ...NAMED, '.env': 'APP_DATABASE="file:app.db"' },
      ...([{}, '--env', '.env'] as const),
    ],
    ['in schema.prisma itself', { 'prisma/schema.prisma': schema('url = "file:app.db"') }],
    ['in prisma.config.ts', { 'prisma.config.ts': config, 'schema.prisma': schema('') }, VARIABLE],
  ])('%s', async (_, files, env = {}, ...args) => {
    const folder = project(files, 'better-sqlite3', 'prisma')
    copyFileSync(url.slice(5), join(folder, 'app.db'))
    expect(await runCli(['list', ...args], { cwd: folder, env })).toEqual({
      ...{ status: 0, stderr: '' },
      stdout: expect.stringContaining('found'),
    })
  })

  const SET = { DATABASE_URL: 'file:./dev.db?connection_limit=1' }

  it.each<[string, string, Texts, string[], string]>([
    ['that it contains', 'url = "file:./dev.db"', {}, [], 'prisma/schema.prisma'],
    ['in DATABASE_URL', 'url = env("DATABASE_URL")', SET, [], 'DATABASE_URL of the environment'],
    ['in --url', '', {}, ['--url', SET.DATABASE_URL], '--url'],
  ])("beside the schema, where Prisma's engines look for a file %s", async (_, source, env, args, by) => {
    const folder = project({ 'prisma/schema.prisma': schema(source) }, 'better-sqlite3')
    copyFileSync(url.slice(5), join(folder, 'prisma/dev.db'))
    expect(await runCli(['list', ...args], { cwd: folder, env })).toMatchObject({ status: 0 })
    const doctor = await runCli(['doctor', ...args], { cwd: folder, env })
    expect(doctor.stdout).toContain(`connection: by ${by}, through better-sqlite3\n`)
    // Which its adapters open.
    writeFileSync(join(folder, 'dev.db'), '')
    expect(await runCli(['list', ...args], { cwd: folder, env })).toMatchObject({
      ...{ status: 2, stdout: '' },
      stderr: expect.stringMatching(/may mean \.\/dev\.db or, .*, prisma\/dev\.db – name one with --url/),
    })
  })

  it('through @libsql/client, if that is the only library', async () => {
    const folder = project({}, '@libsql/client', '@prisma/adapter-libsql')
    const address = `${url.replace('file:', 'file://')}?connection_limit=1`
    expect(await runCli(['list', '--url', address], { cwd: folder })).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('found'),
    })
    const pause = ['pause', 'job', '--duration', '1h', '--reason', 'r', '--url', url]
    expect(await runCli(pause, { cwd: folder })).toMatchObject({ status: 0 })
    expect((await runCli(['list', 'job', '--url', url], { cwd: folder })).stdout).toContain('paused')
  })
})

const SCHEMA = 'datasource db {\n  provider = "postgresql"\n  url = env("PG")\n}'
const CONFIG = "import { env } from 'prisma/config'\nexport default { datasource: { url: env('PG') } }"
const ENUM = 'enum Unsupported { A }\nexport const x: Unsupported = Unsupported.A'
const TWO = "exports.a = { '@instanceof': Symbol.for('DataSource') }; exports.b = { ...exports.a }"
const NOT_COMPILED =
  "throw Object.assign(new Error('Unable to compile TypeScript:\\n data-source.ts(1,1)'), { name: 'TSError' })"
const NO_ERROR = 'throw Object.assign(Object.create(null), { diagnosticCodes: [2322] })'
/** Like ts-node: it compiles what is required, and reports its own errors. */
const loader = (body: string): string => `require.extensions['.ts'] = () => { ${body} }`

interface Refused {
  readonly files?: Texts
  readonly args?: readonly string[]
  readonly env?: Texts
  readonly status?: number
}
const ENV_FILE = ['--env', '.env']
const DATA_SOURCE = ['-d', 'data-source.ts']

it.each<[string, Refused, RegExp]>([
  [
    'a database that is not named, but set in .env as schema.prisma names it',
    { files: { '.env': 'PG=file:x', 'schema.prisma': SCHEMA } },
    /set --url, DATABASE_URL or PG in the environment .* \.env sets it: add --env \.env\.\n$/,
  ],
  [
    'a database that is not named, but set in .env as prisma.config.ts names it',
    {
      files: {
        '.env': 'PG=file:x',
        'schema.prisma': SCHEMA.replace(/ *url .*\n/, ''),
        'prisma.config.ts': CONFIG,
      },
    },
    /DATABASE_URL or PG in the environment .* \.env sets it: add --env \.env\.\n$/,
  ],
  [
    'a database that is not named, with a .env without it',
    { files: { '.env': 'OTHER=1' } },
    /or --data-source\.\n$/,
  ],
  [
    'a database that is not named, with a .env where it is empty',
    { files: { '.env': 'DATABASE_URL=' } },
    /or --data-source\.\n$/,
  ],
  [
    'a prisma.config.ts that cannot be loaded',
    { files: { 'prisma.config.ts': 'throw new Error("no way")', 'schema.prisma': '' } },
    /config of Prisma cannot be loaded: .*no way/,
  ],
  [
    'a variable of a file that refers to another',
    { files: { '.env': 'HOST_=db\nDATABASE_URL=postgres://${HOST_}/app' }, args: ENV_FILE },
    /The URL contains \$\{HOST_\} instead of its value – write the value/,
  ],
  ...['.env', 'prisma/.env', '.env.local', '.env.development'].map((file): [string, Refused, RegExp] => [
    `a variable of ${file}, which is not named`,
    { files: { [file]: 'DATABASE_URL=file:x' } },
    new RegExp(`--data-source\\. ${file} sets it: add --env ${file}\\.\n$`),
  ]),
  [
    'a variable that differs from that of the file',
    {
      files: { '.env': 'PG=postgres://one.example/app', 'schema.prisma': SCHEMA },
      ...{ args: ENV_FILE, env: { PG: 'postgres://other.example/app' } },
    },
    /^shedlock-orm: PG of the environment and PG of \.env may mean two databases – set only one of them\.\n$/,
  ],
  [
    'libsql without its package',
    { args: ['--url', 'libsql://db.example'], status: 3 },
    /install @libsql\/client, or use --data-source/,
  ],
  [
    'a DataSource in TypeScript without a loader',
    { files: { 'data-source.ts': ENUM }, args: DATA_SOURCE },
    / – install ts-node, or set NODE_OPTIONS/,
  ],
  [
    'a DataSource that throws',
    { files: { 'data-source.js': "throw new Error('no way')" }, args: ['-d', 'data-source.js'] },
    /cannot be loaded: no way – if the scripts of the app .*\n$/,
  ],
  [
    'a file of two DataSources',
    { files: { 'two.js': TWO }, args: ['-d', 'two.js'] },
    /exports 2 DataSources –/,
  ],
  [
    'a DataSource that connects when it is loaded',
    { files: { 'data-source.js': 'source\n  .initialize()' }, args: ['-d', 'data-source.js'] },
    /calls initialize\(\) when it is loaded, which may run migrations – export/,
  ],
  [
    'a DataSource in TypeScript whose loader failed',
    { files: { 'data-source.ts': ENUM, 'ts-node.cjs': loader(NOT_COMPILED) }, args: DATA_SOURCE },
    /cannot be loaded: Unable to compile TypeScript: data-source\.ts\(1,1\) – if/,
  ],
  [
    'a DataSource in TypeScript whose loader throws what is not an error',
    { files: { 'data-source.ts': ENUM, 'ts-node.cjs': loader(NO_ERROR) }, args: DATA_SOURCE },
    /cannot be loaded: .*diagnosticCodes: \[ 2322 \]/,
  ],
  [
    'a DataSource in TypeScript whose loader does not load ES modules',
    {
      files: {
        'package.json': '{"type":"module"}',
        'data-source.ts': 'export const x: number = enum',
        'ts-node.cjs': '',
      },
      args: DATA_SOURCE,
    },
    // A newer Node.js loads TypeScript by itself.
    'typescript' in process.features ? /cannot be loaded/ : / – install tsx, or set NODE_OPTIONS/,
  ],
])('the command line refuses: %s', async (_, { files = {}, args = [], env, status = 2 }, message) => {
  const folder = project({ 'package.json': '{}', ...files }, 'prisma')
  const loaded = 'ts-node.cjs' in files ? { NODE_OPTIONS: `--require ${join(folder, 'ts-node.cjs')}` } : {}
  const answer = await runCli(['list', ...args], { cwd: folder, env: { ...env, ...loaded } })
  expect(answer).toEqual({ status, stdout: '', stderr: expect.stringMatching(message) })
})

it('ts-node loads an ES module in TypeScript, if there is no tsx', async () => {
  const hooks = `import { readFileSync } from 'node:fs'
export const load = (url, context, next) => url.endsWith('.ts')
  ? { format: 'module', shortCircuit: true, source: readFileSync(new URL(url), 'utf8').replace('as const', '') }
  : next(url, context)`
  const options = "{ type: 'better-sqlite3', database: 'app.db' as const }"
  const files = {
    'package.json': '{"type":"module","devDependencies":{"ts-node":"10"}}',
    'node_modules/ts-node/package.json': '{"exports":{"./esm":"./esm.mjs"}}',
    'node_modules/ts-node/esm.mjs': hooks,
    'data-source.ts': `import { DataSource } from 'typeorm'\nexport default new DataSource(${options})`,
    'app.db': '',
  }
  const folder = project(files, 'typeorm', 'better-sqlite3')
  expect(await runCli(['doctor', '-d', 'data-source.ts'], { cwd: folder })).toMatchObject({
    status: 1,
    stdout: expect.stringContaining("through TypeORM's better-sqlite3"),
  })
})

it('a DataSource that cannot be initialised is told from a database that cannot be reached', async () => {
  const source = (options: string): string =>
    `const { DataSource } = require('typeorm')\nmodule.exports = new DataSource({ type: 'better-sqlite3', ${options} })`
  const files = {
    'entity.js': "throw new Error('no way')",
    'entities.js': source("database: 'app.db', entities: ['entity.js']"),
    'folder.js': source("database: '.'"),
    'app.db': '',
  }
  const folder = project(files, 'better-sqlite3', 'typeorm')
  const list = (file: string) => runCli(['list', '-d', file], { cwd: folder })
  expect(await list('entities.js')).toEqual(
    failed(2, /database was reached, but .* cannot be initialised: no way – check its/),
  )
  expect(await list('folder.js')).toEqual(
    failed(3, /The connection .* failed: .* – check whether the path is that of a database/),
  )
})

it.each([
  ['a DataSource', 'folder', 'folder/app.db', '-d', 'data-source.js'],
  ['a URL', 'app.db', 'app.db', '--url', 'file:app.db'],
])('a file that %s names is created only on demand', async (_, made, database, ...source) => {
  const options = `{ type: 'better-sqlite3', database: '${database}' }`
  const dataSource = { 'data-source.js': `module.exports = new (require('typeorm').DataSource)(${options})` }
  const folder = project(dataSource, 'typeorm', 'better-sqlite3')
  const run = (command: string, ...args: string[]) => runCli([command, ...source, ...args], { cwd: folder })
  const exec = ['job', '--lock-at-most-for', '1m', '--', 'true']
  const file = join(folder, database)
  for (const refused of [await run('list'), await run('doctor'), await run('exec', ...exec)])
    expect(refused).toEqual({
      ...{ status: 3, stdout: '' },
      stderr: `shedlock-orm: There is no SQLite file ${file} – create it with your migrations, or correct the path.\n`,
    })
  expect(existsSync(join(folder, made))).toBe(false)
  expect(await run('exec', '--create-table', ...exec)).toMatchObject({ status: 0 })
  expect(await run('list')).toMatchObject({ status: 0, stdout: expect.stringContaining('job') })
})
