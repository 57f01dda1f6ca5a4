import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/internal'
import { read, root } from '../project'
import { temporaryFolder } from '../temporary-folder'
import { runCli } from './built-cli'

const migrations = join(root, 'migrations')
const folder = temporaryFolder()

describe('shedlock-orm sql', () => {
  it.each(Object.keys(dialects))('prints the migration of %s', async (dialect) => {
    const file = (name: string): string => readFileSync(join(migrations, dialect, name), 'utf8')
    expect(await runCli(['sql', dialect])).toMatchObject({
      status: 0,
      stdout: file('up.sql'),
      stderr: '',
    })
    expect((await runCli(['sql', dialect, '--down'])).stdout).toBe(file('down.sql'))
  })

  it.each([
    ['sql', 'postgresql', 'postgres'],
    ['sql', 'mysql2', 'mysql'],
    ['sql', 'sqlserver', 'mssql'],
    ['prisma', 'postgres', 'postgresql'],
    ['prisma', 'mariadb', 'mysql'],
  ])('%s takes %s for %s', async (command, alias, name) => {
    const known = await runCli([command, name])
    expect(known.status).toBe(0)
    expect(await runCli([command, alias])).toEqual(known)
  })

  it('quotes the names that it is given', async () => {
    const args = [
      'sql',
      'mysql',
      '--schema',
      'app',
      '--table-name',
      'a`; drop',
      '--column-names',
      'lockedBy=who "it" is',
    ]
    const { stdout } = await runCli(args)
    expect(stdout).toContain('create table if not exists `app`.`a``; drop` (')
    expect(stdout).toContain('`who "it" is` varchar(255) not null')
  })

  it('writes to a file, but not over one that is there', async () => {
    const file = join(folder, 'V1__shedlock.sql')
    expect(await runCli(['sql', 'sqlite', '--out', join(folder, 'no', 'such.sql')])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/such\.sql cannot be written: .* – create its folder first\n$/),
    })
    expect(existsSync(join(folder, 'no'))).toBe(false)
    expect(await runCli(['sql', 'sqlite', '--out', file])).toMatchObject({ status: 0, stdout: '' })
    writeFileSync(file, 'mine')
    expect((await runCli(['sql', 'sqlite', '--out', file])).status).toBe(2)
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })
})

describe('shedlock-orm prisma', () => {
  it('prints a model with the names that it is given', async () => {
    const names = ['--table-name', 'Lock "s"', '--column-names', 'name=jobName']
    const { stdout } = await runCli(['prisma', 'postgresql', ...names])
    expect(stdout).toContain('@@map("Lock \\"s\\"")')
    expect(stdout).toContain('@id @map("jobName")')
  })
})

describe('shedlock-orm typeorm', () => {
  const migration = async (name: string, ...flags: string[]): Promise<string> => {
    const file = join(folder, name)
    await runCli(['typeorm', '--out', file, ...flags])
    return readFileSync(file, 'utf8')
  }

  it.each([
    ['ts', 'import', 'export class', 'override name'],
    ['mjs', 'import', 'export class', 'name'],
    ['cjs', 'const', 'exports.CreateShedLock1795000000000 = class', 'name'],
  ])('dates the migration as its file is dated: .%s', async (extension, imports, exported, member) => {
    const text = await migration(`1795000000000-locks.${extension}`, '--schema', 'ops')
    expect(text).toMatch(new RegExp(`^${imports} `))
    expect(text).toContain(
      `${exported} CreateShedLock1795000000000 extends createShedLockMigration({ schema: 'ops' }) {\n  ${member} = 'CreateShedLock1795000000000'\n}\n`,
    )
  })

  it('writes a .js file as the package beside it says', async () => {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    expect(await migration('locks.js')).toMatch(/^import /)
  })
})

describe('names that code needs too', () => {
  it.each([
    [['prisma', 'postgresql'], "prismaLockProvider(prisma, { tableName: 'job_locks' })"],
    [['prisma', 'postgresql', '--migration'], "prismaLockProvider(prisma, { tableName: 'job_locks' })"],
    [['prisma', 'postgresql', '--contract'], "prismaLockProvider(db, { tableName: 'job_locks' })"],
    [['typeorm'], "typeOrmLockProvider(dataSource, { tableName: 'job_locks' })"],
    [['sql', 'mysql'], "the lock provider ({ tableName: 'job_locks' })"],
  ])('are printed beside what was asked for: %j', async (args, call) => {
    const { stderr } = await runCli([...args, '--table-name', 'job_locks'])
    expect(stderr).toBe(`shedlock-orm: use the same names in code: ${call}\n`)
    expect(await runCli(args)).toMatchObject({ status: 0, stderr: '' })
  })
})

describe('shedlock-orm --help', () => {
  it('prints the exit statuses and the version', async () => {
    expect((await runCli(['--help'])).stdout).toMatch(/Exit status:\n {2}0 /)
    const { version } = JSON.parse(read('package.json')) as {
      version: string
    }
    expect((await runCli(['--version'])).stdout).toBe(`${version}\n`)
  })
})
