import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DataSource } from 'typeorm'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  dialects,
  tableDefinition,
  type DialectName,
  type LockRecord,
  type SqlLockProvider,
} from '../../src/sql'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, type TestDatabase } from '../backends'
import { hostileNames } from '../hostile-names'
import { buildCli, runCli, type Finished, type RunOptions } from './built-cli'

const root = join(__dirname, '..', '..')
/** Somewhere else, with the packages of this project. */
const project = mkdtempSync(join(tmpdir(), 'shedlock-project-'))
symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))

const backends = availableBackends().filter(({ shared }) => shared)
let cli: string

beforeAll(() => {
  cli = buildCli()
})

describe.for(backends)('the command line on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource
  let provider: SqlLockProvider

  beforeEach(async () => {
    database = await backend.create()
    dataSource = await new DataSource({
      ...database.typeOrm,
      migrations: [createShedLockMigration()],
    }).initialize()
    await dataSource.runMigrations()
    provider = typeOrmLockProvider(dataSource, { lockedBy: 'host-1/42' })
  })

  afterEach(async () => {
    await dataSource.destroy()
    await database.drop()
  })

  const run = (args: readonly string[], options?: RunOptions): Promise<Finished> =>
    runCli(cli, [...args, '--url', database.url], options)

  const held = async (name: string): Promise<boolean | undefined> =>
    (await provider.listLocks()).find((lock) => lock.name === name)?.held

  it('lists who holds what', async () => {
    expect((await run(['list'])).stdout).toBe('There are no locks.\n')
    await provider.lock({ name: 'report', lockAtMostFor: '90m' })
    const free = await provider.lock({ name: 'cleanup', lockAtMostFor: '1h' })
    await free?.unlock()

    const { status, stdout } = await run(['list'])
    expect(status).toBe(0)
    expect(stdout).toMatch(
      /^NAME +STATE +LOCKED BY +LOCKED AT +LOCK UNTIL\ncleanup +free +host-1\/42\/.*\nreport +held, 1h (29m \d+|30m 0)s left +host-1\/42\//,
    )
    expect((await run(['list', '--held'])).stdout).not.toContain('cleanup')

    const locks = JSON.parse((await run(['list', '--json'])).stdout) as LockRecord[]
    const { name, held, lockedBy, lockedAt, lockUntil } = (await provider.listLocks())[1] ?? {}
    const shown = { name, held, lockedBy, lockedAt, lockUntil }
    expect(locks[1]).toMatchObject(JSON.parse(JSON.stringify(shown)) as object)
  })

  it('takes the URL from DATABASE_URL', async () => {
    expect((await runCli(cli, ['list'], { env: { DATABASE_URL: database.url } })).status).toBe(0)
  })

  it('shows one lock, or says that there is none', async () => {
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    expect((await run(['show', 'report'])).stdout).toMatch(
      /^name +report\nstate +held, .*\nlocked by +host-1\/42/,
    )
    expect(JSON.parse((await run(['show', 'report', '--json'])).stdout)).toMatchObject({
      name: 'report',
      held: true,
    })
    expect(await run(['show', 'Report'])).toEqual({
      status: 1,
      stdout: '',
      stderr: "shedlock: There is no lock 'Report': it was never taken.\n",
    })
  })

  it('releases a held lock when it is told to', async () => {
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    expect(await run(['release', 'report', '--yes'])).toMatchObject({ status: 0, stderr: '' })
    expect(await held('report')).toBe(false)
    expect((await run(['release', 'report', '--yes'])).stdout).toContain('It is free already.')
    expect((await run(['release', 'other', '--yes'])).status).toBe(1)
  })

  it('asks before it releases', async () => {
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    expect((await run(['release', 'report'])).status).toBe(2)
    const ask = (answer: string): number => {
      // A terminal of its own, in which the answer is typed.
      const command = [process.execPath, cli, 'release', 'report', '--url', database.url]
        .map((word) => `'${word}'`)
        .join(' ')
      try {
        execFileSync('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
          input: `${answer}\n`,
          stdio: 'pipe',
        })
        return 0
      } catch (error) {
        return (error as { status: number }).status
      }
    }
    expect(ask('n')).toBe(1)
    expect(await held('report')).toBe(true)
    expect(ask('y')).toBe(0)
    expect(await held('report')).toBe(false)
  })

  it('finds the table under any names', async () => {
    for (const statement of tableDefinition(dialects[backend.dialect], hostileNames).up)
      await dataSource.query(statement)
    provider = typeOrmLockProvider(dataSource, hostileNames)
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    const { tableName, columnNames } = hostileNames
    const { stdout } = await run([
      ...['list', '--table', tableName, '--column-name', columnNames.name],
      ...['--column-lock-until', columnNames.lockUntil, '--column-locked-at', columnNames.lockedAt],
      ...['--column-locked-by', columnNames.lockedBy],
    ])
    expect(stdout).toContain('report')
  })

  it.for(DRIVERS[backend.dialect] ?? [])('needs of the project only %s', async (name) => {
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    const cwd = projectWith(name)
    const { stdout, stderr } = await run(['list', '--json'], { cwd })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'report', held: true }])
    expect((await run(['doctor'], { cwd })).stdout).toContain('\n0 errors, 0 warnings\n')
  })

  it('says which driver is missing', async () => {
    const { status, stderr } = await run(['list'], { cwd: projectWith() })
    expect(status).toBe(3)
    expect(stderr).toMatch(
      /^shedlock: There is no driver for this database in .* – install [\w-]+( or [\w-]+)?, or use .*\n$/,
    )
  })

  it('says in one line that there is no table', async () => {
    const { status, stderr } = await run(['list', '--table', 'other'])
    expect(status).toBe(3)
    expect(stderr).toMatch(/^shedlock: There is no lock table 'other' .*\n$/)
  })

  it.for([
    ['typeorm', 'cjs', 'module.exports = new DataSource(options)'],
    ['typeorm', 'mjs', 'export default new DataSource(options)'],
    ['typeorm', 'ts', 'export const AppDataSource: DataSource = new DataSource(options)'],
    ['typeorm-0.3', 'cjs', 'exports.promised = Promise.resolve(new DataSource(options))'],
  ] as const)('reads the DataSource of a file: %s, %s', async ([typeorm, extension, exported]) => {
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    const options = JSON.stringify({ ...database.typeOrm, synchronize: true, dropSchema: true })
    const load =
      extension === 'cjs'
        ? `const { DataSource } = require('${typeorm}')`
        : `import { DataSource } from '${typeorm}'`
    const file = join(project, `data-source.${extension}`)
    writeFileSync(
      file,
      `${load}\nconst options${extension === 'ts' ? ': any' : ''} = ${options}\n${exported}\n`,
    )

    const env: Record<string, string> = extension === 'ts' ? { NODE_OPTIONS: '--import tsx' } : {}
    const { stdout, stderr, status } = await runCli(cli, ['list', '--data-source', file], { env })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('report')
    // Neither synchronize nor dropSchema was obeyed.
    expect(await held('report')).toBe(true)
  })
})

/** Packages through which the command line reaches a database; an adapter of Prisma brings its driver along. */
const DRIVERS: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  postgres: ['pg', '@prisma/adapter-pg'],
  mysql: ['mysql2', 'mariadb', '@prisma/adapter-mariadb'],
  mariadb: ['mysql2', 'mariadb', '@prisma/adapter-mariadb'],
  sqlite: ['better-sqlite3', '@prisma/adapter-better-sqlite3'],
}

function projectWith(...names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-project-'))
  for (const name of names) {
    const path = join(folder, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), path)
  }
  return folder
}
