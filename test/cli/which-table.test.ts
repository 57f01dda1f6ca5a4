import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import type { LockTableOptions } from '../../src/sql/names'
import { tableDefinition } from '../../src/sql/table/definition'
import { describePlace } from '../../src/sql/table/place'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { root } from '../project'
import { ALL_PACKAGES, project, runCli } from './built-cli'
import { openCli } from './open-cli'

const PAUSE = ['pause', 'job', '--duration', '8h', '--reason', 'r']
const UNKNOWN = "shedlock-orm: Lock 'job' has never been acquired – check the name of the job.\n"

/** Somewhere else, with the packages of this project, and the library built so that a command need not compile it. */
const folder = project({}, ALL_PACKAGES)
execFileSync(join(root, 'node_modules/esbuild/bin/esbuild'), [
  ...[join(root, 'src/typeorm/index.ts'), `--outfile=${join(folder, 'shedlock-typeorm.cjs')}`],
  ...['--bundle', '--packages=external', '--platform=node', '--log-level=error'],
])

// Of these, one has schemas and a server, the other has neither.
const backends = availableBackends('sqlite', 'postgres')

describeBackends(backends)('which table a command works on, on $name', (backend) => {
  const open = async () => {
    const opened = await openCli(backend, {})
    const tableOf = (tableName: string, schema?: string) =>
      typeOrmLockProvider(opened.dataSource, { tableName, schema }).table
    for (const name of ['shedlock', 'job_locks']) await tableOf(name).create()
    const place = async (tableName: string, schema?: string) => ({
      ...(await tableOf(tableName, schema).place()),
      ...(backend.name === 'sqlite' ? {} : { server: new URL(opened.database.url).host }),
    })
    return {
      ...opened,
      place,
      line: async (tableName: string, schema?: string): Promise<string> =>
        `shedlock-orm: ${describePlace(await place(tableName, schema))}\n`,
    }
  }

  it('is printed before a command changes it, and is part of its JSON', async () => {
    const { run, line, place } = await open()
    const shedlock = await line('shedlock')
    expect(await run(...PAUSE)).toMatchObject({ status: 0, stderr: shedlock + UNKNOWN })
    expect((await run('resume', 'job')).stderr).toBe(shedlock)
    expect((await run('release', 'job', '--yes')).stderr).toBe(shedlock)
    const exec = ['exec', 'job', '--wait', '1m', '--table-name', 'new_locks', '--create-table', '--', 'true']
    const { status, stderr } = await run(...exec)
    expect({ status, stderr }).toEqual({ status: 0, stderr: await line('new_locks') })
    // Though nothing is changed.
    expect((await run('resume', 'job')).stderr).toMatch(new RegExp(`^${shedlock}.*not paused`))
    const doctor = await run('doctor')
    expect(doctor.stdout).toMatch(new RegExp(`^ok +place: ${shedlock.replace('shedlock-orm: ', '')}`))

    const other = ['--table-name', 'job_locks', '--json']
    const inOther = JSON.parse(JSON.stringify(await place('job_locks'))) as object
    for (const [command, change] of [
      [PAUSE, { paused: true, lockedAt: null, lockedBy: expect.stringMatching(/^paused by \S+@\S+: r\//) }],
      [['resume', 'job'], { held: false }],
      [['release', 'job', '--yes'], { held: false }],
    ] as const)
      expect(JSON.parse((await run(...command, ...other)).stdout)).toMatchObject({
        ...change,
        place: inOther,
      })
    expect(JSON.parse((await run('doctor', '--json')).stdout)).toContainEqual(
      expect.objectContaining({ check: 'place' }),
    )
  })

  if (backend.name === 'postgres') {
    it('is printed with its schema if a search path found it', async () => {
      const { database, dataSource, run, line } = await open()
      await dataSource.query('create schema app')
      const url = `${database.url}?options=${encodeURIComponent('-c search_path=app,public')}`
      expect((await run(...PAUSE, '--url', url)).stderr).toContain(await line('shedlock', 'public'))
      expect((await run('doctor', '--url', url)).stdout).toMatch(/^ok +place: table public\.shedlock,/)
      const flags = ['--wait', '1m', '--table-name', 'new_locks', '--create-table', '--url', url]
      const { stderr } = await run('exec', 'job', ...flags, '--', 'true')
      expect(stderr).toBe(await line('new_locks', 'app'))
    })

    it('and a password that is a word of JSON does not change what is printed', async () => {
      const { database, run } = await open()
      await run(...PAUSE)
      for (const password of ['true', 'paused', 'job ']) {
        const url = new URL(database.url)
        url.password = password
        const { stdout, stderr } = await run('list', '--json', '--url', url.href)
        expect(JSON.parse(stdout)).toMatchObject([{ name: 'job', held: true, paused: true }])
        expect(stderr).toBe('')
      }
    })
    return
  }

  const createTable = async (dataSource: DataSource, names: LockTableOptions): Promise<void> => {
    await dataSource.query(`drop table if exists ${names.tableName}`)
    for (const statement of tableDefinition(dialects[backend.dialect], names).up)
      await dataSource.query(statement)
  }
  /** Writes the file of a DataSource, with options that are code. */
  const fileOf = ({ typeOrm }: TestDatabase, options: string): string => {
    const file = join(folder, 'data-source.cjs')
    writeFileSync(
      file,
      `// A command ends though a file that it loaded keeps the process.
setInterval(() => undefined, 1e6)
const { DataSource } = require('typeorm')
const { shedLockEntity } = require('./shedlock-typeorm.cjs')
module.exports = new DataSource({ ...${JSON.stringify(typeOrm)}, ${options} })`,
    )
    return file
  }

  it('is the table of the entity in the file of the DataSource, unless flags name another', async () => {
    const { dataSource, database, line, isPaused } = await open()
    const names = { tableName: 'job_locks', columnNames: { lockUntil: 'until' } }
    await createTable(dataSource, names)
    const file = fileOf(database, `entities: [shedLockEntity(${JSON.stringify(names)})]`)
    const { status, stderr } = await runCli([...PAUSE, '-d', file])
    expect({ status, stderr }).toEqual({ status: 0, stderr: (await line('job_locks')) + UNKNOWN })
    expect(await isPaused()).toBe(false)
    const flags = ['-d', file, '--table-name', 'shedlock', '--column-names', 'lockUntil=lock_until']
    expect(await runCli([...PAUSE, ...flags])).toMatchObject({ status: 0 })
    expect(await isPaused()).toBe(true)
  })

  it('has the entityPrefix of the DataSource, and is the first of several entities', async () => {
    const { dataSource, database, line } = await open()
    const second = { tableName: 'locks', columnNames: { lockUntil: 'until' } }
    await createTable(dataSource, { tableName: 'job_shedlock' })
    await createTable(dataSource, { ...second, tableName: 'job_locks' })
    const entities = `[shedLockEntity(${JSON.stringify(second)}), shedLockEntity()]`
    const file = fileOf(database, `entityPrefix: 'job_', entities: ${entities}`)
    const stderr = async (...flags: string[]) => (await runCli([...PAUSE, '-d', file, ...flags])).stderr
    expect(await stderr()).toBe((await line('job_shedlock')) + UNKNOWN)
    expect(await stderr('--table-name', 'locks')).toBe((await line('job_locks')) + UNKNOWN)
  })

  it('is said by doctor to be a guess where the DataSource has no entity', async () => {
    const { database, dataSource } = await open()
    await dataSource.query('drop table shedlock')
    expect((await runCli(['doctor', '-d', fileOf(database, '')])).stdout).toMatch(
      /^note +place: looked for .* – the DataSource has no shedLockEntity\(…\) of that table/,
    )
  })

  it('is refused when two places are given', async () => {
    const { database, run, line, isPaused } = await open()
    const file = join(folder, '.env')
    const other = 'postgres://app:hunter2@other.example/app'
    writeFileSync(file, `DATABASE_URL=${other}\n`)
    for (const [args, message] of [
      [['--env', file], `DATABASE_URL of the environment and DATABASE_URL of ${file}`],
      [['--env', file, '--url', database.url], `--url and DATABASE_URL of ${file}`],
      [['-d', 'x.js', '--url', database.url], '--url and --data-source'],
      [['-d', 'x.js', '--env', file], `DATABASE_URL of the environment and DATABASE_URL of ${file}`],
    ] as const)
      expect(await run(...PAUSE, ...args)).toEqual({
        status: 2,
        stdout: '',
        stderr: `shedlock-orm: ${message} may mean two databases – set only one of them.\n`,
      })
    expect(await isPaused()).toBe(false)
    writeFileSync(file, `DATABASE_URL=${database.url}\nOTHER=1\n`)
    expect((await run('list', '--env', file, '--url', database.url)).status).toBe(0)
    // What is named wins over what is exported.
    expect(await runCli([...PAUSE, '--url', database.url], { env: { DATABASE_URL: other } })).toMatchObject({
      status: 0,
      stderr: (await line('shedlock')) + UNKNOWN,
    })
  })
})
