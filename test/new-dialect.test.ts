import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import type * as TypeOrm from '../src/typeorm'
import { afterTest } from './after-test'
import { root } from './project'
import { KINDS, lacking } from './registries'
import { temporaryFolder } from './temporary-folder'
import { Log } from './typeorm/log'

// Adds a database like SQLite to copies of the project, as CONTRIBUTING.md says.

type Step = (project: string) => void

const write =
  (path: string, text: string): Step =>
  (project) => {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
const insert =
  (path: string, text: string, before: string): Step =>
  (project) => {
    const parts = readFileSync(join(project, path), 'utf8').split(before)
    expect(parts).toHaveLength(2)
    writeFileSync(join(project, path), parts.join(text + before))
  }
const all =
  (...steps: Step[]): Step =>
  (project) => {
    for (const step of steps) step(project)
  }

const FOLDER = 'src/sql/dialects/newsql'
const REGISTRY = 'src/sql/dialects/index.ts'
const IMPORTS = `import { newsql } from './newsql/lock'
import { newsqlTable } from './newsql/table'
import { newsqlDriver } from './newsql/driver'
`
/** What the compiler asks for, by what it says as long as that is missing. */
const COMPILED: Readonly<Record<string, Step>> = {
  "Cannot find module './newsql/lock'": write(
    `${FOLDER}/lock.ts`,
    `import type { LockDialect } from '../../dialect'
import { sqlite } from '../sqlite/lock'
export const newsql: LockDialect = { ...sqlite, quote: (identifier) => \`[\${identifier}]\` }`,
  ),
  "Cannot find module './newsql/table'": write(
    `${FOLDER}/table.ts`,
    `import type { TableDialect } from '../../dialect'
import { sqliteTable } from '../sqlite/table'
export const newsqlTable: TableDialect = { ...sqliteTable, time: 'newtime' }`,
  ),
  "Cannot find module './newsql/driver'": write(
    `${FOLDER}/driver.ts`,
    `import type { Driver } from '../../dialect'
import { sqliteDriver } from '../sqlite/driver'
export const newsqlDriver: Driver = { ...sqliteDriver, settled: (text) => \`/* newsql */ \${text}\` }`,
  ),
  "'newsql' does not exist in type": insert(
    'src/sql/dialect.ts',
    `'newsql' | `,
    `'postgres' | 'cockroachdb'`,
  ),
  "Property 'newsql' is missing": all(
    insert(REGISTRY, IMPORTS, 'import { sqlite }'),
    insert(
      REGISTRY,
      `newsql: { ...newsql, name: 'newsql', table: newsqlTable, driver: newsqlDriver },\n`,
      '  sqlite: { ...sqlite,',
    ),
  ),
}
/** The compiler does not ask for it. */
const SERVER = insert(
  'test/backends/servers.ts',
  `{ ...mysql, name: 'newsql', dialect: 'newsql' },\n`,
  '  spanner,\n]',
)

const folder = temporaryFolder()
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')

/** Copies parts of the project, and takes these steps there. */
function copy(parts: readonly string[], to: string, steps: readonly Step[]): string {
  const filter = (path: string): boolean => !/[\\/](node_modules|dist|\.git)$/.test(path)
  for (const part of parts) cpSync(join(root, part), join(folder, to, part), { recursive: true, filter })
  all(...steps)(join(folder, to))
  return join(folder, to)
}

/** Resolves to what the compiler says. */
async function compile(project: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc')
  const compiling = promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', project], {
    cwd: project,
  })
  return (await compiling.catch((error: unknown) => error as { stdout: string })).stdout
}

it('the compiler names each step that is left out', async () => {
  const steps = Object.entries(COMPILED)
  for (const [index, [, leftOut]] of steps.entries()) {
    const others = Object.values(COMPILED).filter((step) => step !== leftOut)
    copy(['src/core', 'src/sql'], `left-out/${index}`, others)
  }
  const config = { extends: join(root, 'tsconfig.json'), include: ['.'], exclude: [] }
  writeFileSync(join(folder, 'left-out/tsconfig.json'), JSON.stringify(config))
  const errors = (await compile(join(folder, 'left-out'))).split('\n')
  for (const [index, [message]] of steps.entries())
    expect(errors.filter((error) => error.startsWith(`${index}/`)).join('\n')).toContain(message)
})

it('the tests name what else is left out', () => {
  const asked = Object.keys(KINDS['dialect']?.places ?? {}).flatMap((place) =>
    lacking('dialect', place, ['newsql']),
  )
  expect(asked).toEqual([
    'The dialect newsql lacks its SQL in test/sql/golden: npm run generate.',
    'The dialect newsql lacks its migration: npm run generate.',
    'The dialect newsql lacks a server in test/backends/servers.ts, or a client in test/drivers/fake-clients.ts.',
    'The dialect newsql lacks a server that tests run on, unless it is `untried`.',
    'The dialect newsql lacks its name in DATABASES of scripts/write-works-with.mjs.',
    'The dialect newsql lacks its name in .github/ISSUE_TEMPLATE/bug.yml.',
  ])
})

it('what has taken all steps compiles, and keeps locks', async () => {
  const project = copy([''], 'complete', [...Object.values(COMPILED), SERVER])
  expect(await compile(project)).toBe('')
  const { typeOrmLockProvider } = (await import(join(project, 'src/typeorm'))) as typeof TypeOrm
  const log = new Log(true)
  const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', logger: log })
  await dataSource.initialize()
  afterTest(() => dataSource.destroy())
  const provider = typeOrmLockProvider(dataSource, { dialect: 'newsql' as 'sqlite' })
  await provider.table.create()
  const job = { name: 'job', lockAtMostFor: '1m' }
  const lock = await provider.lock(job)
  expect(await provider.lock(job)).toBeUndefined()
  await lock?.extend('1h')
  const extended = await provider.table.find('job')
  expect(Number(extended?.lockUntil) - Number(extended?.now)).toBeGreaterThan(3_000_000)
  await lock?.unlock()
  expect(await provider.table.find('job')).toMatchObject({ held: false })
  expect(log.seen.filter((each) => !each.startsWith('query: /* newsql */'))).toEqual([])
  expect(log.seen.join()).toContain('[lock_until] newtime not null')
})
