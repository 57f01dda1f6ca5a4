import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { projectWith, runCli } from './built-cli'

const backends = availableBackends().filter(({ name }) => name === 'sqlite')

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
}

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

  it.each<
    [
      string,
      (url: string) => { files: Record<string, string>; env?: Record<string, string>; args?: string[] },
    ]
  >([
    [
      'in the variable that schema.prisma names',
      (url) => ({
        files: { 'prisma/schema.prisma': schema('url = env("APP_DATABASE")') },
        env: { APP_DATABASE: url },
      }),
    ],
    [
      'in the variable that schema.prisma names, in a file of variables',
      (url) => ({
        files: {
          'prisma/schema.prisma': schema('url = env("APP_DATABASE")'),
          '.env': `APP_DATABASE="${url}"`,
        },
        args: ['--env', '.env'],
      }),
    ],
    ['in schema.prisma itself', (url) => ({ files: { 'prisma/schema.prisma': schema(`url = "${url}"`) } })],
    [
      'in prisma.config.ts',
      (url) => ({
        files: { 'prisma.config.ts': config, 'schema.prisma': schema('') },
        env: { APP_DATABASE: url },
      }),
    ],
    [
      'in a variable that is made of others',
      (url) => ({
        files: {
          '.env': `FOLDER=${dirname(url.slice(5))}\nDATABASE_URL="file:\${FOLDER}/\${NAME:-test.sqlite}"`,
        },
        args: ['--env', '.env'],
      }),
    ],
  ])('%s', async (_, setUp) => {
    const folder = projectWith('better-sqlite3', 'prisma')
    const { files, env = {}, args = [] } = setUp(url)
    write(folder, files)
    const { status, stdout, stderr } = await runCli(['list', ...args], { cwd: folder, env })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('found')
  })

  it.each([
    ['that it contains', 'url = "file:./dev.db"', {}],
    ['in DATABASE_URL', 'url = env("DATABASE_URL")', { DATABASE_URL: 'file:./dev.db?connection_limit=1' }],
  ])("beside the schema, where Prisma's engines look for a file %s", async (_, source, env) => {
    const folder = projectWith('better-sqlite3')
    write(folder, { 'prisma/schema.prisma': schema(source) })
    execFileSync('cp', [url.slice(5), join(folder, 'prisma/dev.db')])
    expect(await runCli(['list'], { cwd: folder, env })).toMatchObject({ status: 0 })
  })

  it('through @libsql/client, if that is the only library', async () => {
    const folder = projectWith('@libsql/client', '@prisma/adapter-libsql')
    expect(await runCli(['list', '--url', url], { cwd: folder })).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('found'),
    })
    const pause = ['pause', 'job', '--duration', '1h', '--reason', 'r', '--url', url]
    expect(await runCli(pause, { cwd: folder })).toMatchObject({ status: 0 })
    expect((await runCli(['list', 'job', '--url', url], { cwd: folder })).stdout).toContain('paused')
  })
})

describe('a database that is not named', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    [
      'but set in .env',
      { '.env': 'DATABASE_URL=file:x' },
      /--data-source\. \.env sets it: add --env \.env\.\n$/,
    ],
    [
      'but set in .env as schema.prisma names it',
      {
        '.env': 'PG=file:x',
        'schema.prisma': 'datasource db {\n  provider = "postgresql"\n  url = env("PG")\n}',
      },
      /set --url, DATABASE_URL or PG in the environment .* \.env sets it: add --env \.env\.\n$/,
    ],
    [
      'but set in .env as prisma.config.ts names it',
      {
        '.env': 'PG=file:x',
        'schema.prisma': 'datasource db {\n  provider = "postgresql"\n}',
        'prisma.config.ts':
          "import { env } from 'prisma/config'\nexport default { datasource: { url: env('PG') } }",
      },
      /DATABASE_URL or PG in the environment .* \.env sets it: add --env \.env\.\n$/,
    ],
    ['in a .env without it', { '.env': 'OTHER=1' }, /or --data-source\.\n$/],
    ['in a .env without a value', { '.env': 'DATABASE_URL=' }, /or --data-source\.\n$/],
    [
      'as prisma.config.ts cannot be loaded',
      { 'prisma.config.ts': 'throw new Error("no way")', 'schema.prisma': '' },
      /prisma\.config\.ts cannot be loaded: .*no way/,
    ],
  ])('is reported, %s', async (_, files, message) => {
    const folder = projectWith('prisma')
    write(folder, files)
    const { status, stderr } = await runCli(['list'], { cwd: folder })
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(message) })
  })

  it.each([
    [
      'OTHER=${B}\nDATABASE_URL=file:${HOST_}',
      /The URL contains \$\{HOST_\} instead of its value – set HOST_ in/,
    ],
    ['DATABASE_URL=file:${B}\nB=${DATABASE_URL}', /contains \$\{DATABASE_URL\} instead/],
  ])('is reported, if the variables of a file do not make it: %j', async (text, message) => {
    const folder = projectWith()
    write(folder, { '.env': text })
    const { status, stderr } = await runCli(['list', '--env', '.env'], { cwd: folder })
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(message) })
  })

  it('is not looked for in another place if a variable differs from that of the file', async () => {
    const folder = projectWith()
    write(folder, {
      '.env': 'PG=postgres://one.example/app',
      'schema.prisma': 'datasource db {\n  provider = "postgresql"\n  url = env("PG")\n}',
    })
    const env = { PG: 'postgres://other.example/app' }
    expect(await runCli(['list', '--env', '.env'], { cwd: folder, env })).toMatchObject({
      status: 2,
      stderr:
        'shedlock-orm: PG of the environment and PG of .env may mean two databases – set only one of them.\n',
    })
  })

  it('is refused at libsql without its package, with what to install', async () => {
    expect(await runCli(['list', '--url', 'libsql://db.example'], { cwd: projectWith() })).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('install @libsql/client, or use --data-source'),
    })
  })
})

it('a DataSource that cannot be initialised is told from a database that cannot be reached', async () => {
  const folder = projectWith('better-sqlite3', 'typeorm')
  const source = (options: string): string =>
    `const { DataSource } = require('typeorm')\nmodule.exports = new DataSource({ type: 'better-sqlite3', ${options} })`
  write(folder, {
    'entity.js': "throw new Error('no way')",
    'entities.js': source("database: 'app.db', entities: ['entity.js']"),
    'folder.js': source("database: '.'"),
  })
  const list = (file: string) => runCli(['list', '-d', file], { cwd: folder })
  expect(await list('entities.js')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/database was reached, but .* cannot be initialised: no way – check its/),
  })
  expect(await list('folder.js')).toMatchObject({
    status: 3,
    stderr: expect.stringMatching(
      /The connection .* failed: .* – check whether the path is that of a database/,
    ),
  })
})

describe('a DataSource in TypeScript that cannot be loaded', () => {
  /** Like ts-node: it compiles what is required, and reports its own errors. */
  const loader = (body: string): string => `require.extensions['.ts'] = () => { ${body} }`

  it.each([
    ['no loader', undefined, /TypeScript needs a loader, such as NODE_OPTIONS/],
    [
      'a loader that failed',
      loader(
        "throw Object.assign(new Error('Unable to compile TypeScript:\\n data-source.ts(1,1)'), { name: 'TSError' })",
      ),
      /cannot be loaded: Unable to compile TypeScript: data-source\.ts\(1,1\)\n$/,
    ],
    [
      'a loader that throws what is not an error',
      loader('throw Object.assign(Object.create(null), { diagnosticCodes: [2322] })'),
      /cannot be loaded: .*diagnosticCodes: \[ 2322 \]/,
    ],
  ])('is reported with its reason: %s', async (_, text, message) => {
    const folder = projectWith()
    write(folder, {
      'package.json': '{}',
      'data-source.ts': 'enum Unsupported { A }\nexport const x: Unsupported = Unsupported.A',
      ...(text !== undefined && { 'ts-node.js': text }),
    })
    const env = text === undefined ? {} : { NODE_OPTIONS: `--require ${join(folder, 'ts-node.js')}` }
    const { status, stderr } = await runCli(['list', '-d', 'data-source.ts'], { cwd: folder, env })
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(message) })
  })

  it.each([
    ["import 'node:fs'\nenum Unsupported { A }", /cannot be loaded: .* – TypeScript needs a loader/],
    ["throw new Error('no way')", /cannot be loaded: no way\n$/],
    ["JSON.parse('no JSON')", /cannot be loaded: [^–]*JSON[^–]*\n$/],
    ["require('./entity')", /cannot be loaded: .* – TypeScript may need a loader/],
    ["require('no-such-package')", /cannot be loaded: [^–]*no-such-package[^–]*\n$/],
  ])('is reported with its reason: %s', async (text, message) => {
    const folder = projectWith()
    write(folder, { 'package.json': '{}', 'data-source.ts': text })
    const { status, stderr } = await runCli(['list', '-d', 'data-source.ts'], { cwd: folder })
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(message) })
  })

  it('is reported with its reason: a loader that does not load ES modules', async () => {
    const folder = projectWith()
    write(folder, {
      'package.json': '{"type":"module"}',
      'data-source.ts': 'export const x: number = enum',
      'ts-node.cjs': '',
    })
    const env = { NODE_OPTIONS: `--require ${join(folder, 'ts-node.cjs')}` }
    const { stderr } = await runCli(['list', '-d', 'data-source.ts'], { cwd: folder, env })
    // A newer Node.js loads TypeScript by itself.
    expect(stderr).toMatch(
      'typescript' in process.features ? /cannot be loaded/ : /does not load ES modules: use .*tsx/,
    )
  })
})
