import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { dialects, tableDefinition } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { openDatabase } from '../backends/open-database'
import { itIf } from '../it-if'
import { ALL_PACKAGES, projectWith, root, runCli } from './built-cli'

const backends = availableBackends().filter(({ shared, dialect }) => shared && dialect !== 'oracle')
const PAUSE = ['pause', 'job', '--duration', '8h', '--reason', 'r']

/** Somewhere else, with the packages of this project, and the library built so that a command need not compile it. */
const project = projectWith(ALL_PACKAGES)
execFileSync(join(root, 'node_modules/esbuild/bin/esbuild'), [
  ...[join(root, 'src/typeorm/index.ts'), `--outfile=${join(project, 'shedlock-typeorm.cjs')}`],
  ...['--bundle', '--packages=external', '--platform=node', '--log-level=error'],
])

describeBackends(backends)('which table a command works on, on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource

  beforeEach(async () => {
    ;({ database, dataSource } = await openDatabase(backend))
    for (const tableName of ['shedlock', 'job_locks'])
      await typeOrmLockProvider(dataSource, { tableName }).table.create()
  })

  const UNKNOWN = "shedlock-orm: Lock 'job' has never been acquired – check the name of the job.\n"
  const run = (...args: readonly string[]) => runCli(args, { env: { DATABASE_URL: database.url } })
  const isPaused = async (tableName: string): Promise<boolean> => {
    const lock = await typeOrmLockProvider(dataSource, { tableName }).table.find('job')
    return lock?.paused ?? false
  }
  /** Where all databases of one server are told apart by schemas, the database is the schema. */
  const place = (table: string, schema?: string) => {
    const { database: file } = database.typeOrm as { database: string }
    if (backend.dialect === 'sqlite') return { dialect: 'sqlite', database: resolve(file), table }
    const ownSchema = { postgres: 'public', mssql: 'dbo' }[backend.dialect as string]
    const inside =
      ownSchema === undefined ? { schema: file } : { database: file, schema: schema ?? ownSchema }
    // A URL of MariaDB begins as one of MySQL.
    const dialect = backend.dialect === 'mariadb' ? 'mysql' : backend.dialect
    return { dialect, server: new URL(database.url).host, ...inside, table }
  }
  const line = (table: string, schema?: string): string => {
    const { dialect, ...rest } = place(table, schema)
    const inside = rest as { server?: string; database?: string; schema?: string }
    const name = inside.schema === undefined ? table : `${inside.schema}.${table}`
    return `shedlock-orm: table ${name}${inside.database === undefined ? '' : `, database ${inside.database}`}, ${dialect}${inside.server === undefined ? '' : ` at ${inside.server}`}\n`
  }

  it('is printed before a command changes it', async () => {
    expect(await run(...PAUSE)).toMatchObject({ status: 0, stderr: line('shedlock') + UNKNOWN })
    expect((await run('resume', 'job')).stderr).toBe(line('shedlock'))
    expect((await run('release', 'job', '--yes')).stderr).toBe(line('shedlock'))
    expect((await run('exec', 'job', '--wait', '1m', '--', 'true')).stderr).toBe(line('shedlock'))
    const other = ['exec', 'job', '--wait', '1m', '--table-name', 'new_locks', '--create-table', '--', 'true']
    expect(await run(...other)).toMatchObject({ status: 0, stderr: line('new_locks') })
    // Though nothing is changed.
    expect((await run('resume', 'job')).stderr).toMatch(new RegExp(`^${line('shedlock')}.*not paused`))
    expect((await run('doctor')).stdout).toMatch(
      new RegExp(`^ok +place: ${line('shedlock').replace('shedlock-orm: ', '')}`),
    )
  })

  it('is part of the JSON of a change', async () => {
    const paused = await run(...PAUSE, '--table-name', 'job_locks', '--json')
    expect(JSON.parse(paused.stdout)).toMatchObject({
      name: 'job',
      paused: true,
      lockedAt: null,
      place: place('job_locks'),
    })
    expect(paused.stderr).toBe(line('job_locks') + UNKNOWN)
    const resumed = await run('resume', 'job', '--table-name', 'job_locks', '--json')
    expect(JSON.parse(resumed.stdout)).toMatchObject({ held: false, place: place('job_locks') })
    const released = await run('release', 'job', '--yes', '--table-name', 'job_locks', '--json')
    expect(JSON.parse(released.stdout)).toMatchObject({ held: false, place: place('job_locks') })
    expect((JSON.parse((await run('doctor', '--json')).stdout) as unknown[])[0]).toMatchObject({
      check: 'place',
    })
  })

  it('is the table of the entity in the file of the DataSource, unless flags name another', async () => {
    const file = join(project, 'data-source.cjs')
    const names = { tableName: 'job_locks', columnNames: { lockUntil: 'until' } }
    await dataSource.query('drop table job_locks')
    for (const statement of tableDefinition(dialects[backend.dialect], names).up)
      await dataSource.query(statement)
    writeFileSync(
      file,
      `// A command ends though a file that it loaded keeps the process.
setInterval(() => undefined, 1e6)
const { DataSource } = require('typeorm')
const { shedLockEntity } = require('./shedlock-typeorm.cjs')
module.exports = new DataSource({ ...${JSON.stringify(database.typeOrm)}, entities: [shedLockEntity(${JSON.stringify(names)})] })`,
    )
    const { status, stderr } = await runCli([...PAUSE, '-d', file], {})
    expect({ status, stderr: stderr.replace('mariadb at', 'mysql at') }).toEqual({
      status: 0,
      stderr: line('job_locks') + UNKNOWN,
    })
    expect(await isPaused('shedlock')).toBe(false)
    const flags = ['-d', file, '--table-name', 'shedlock', '--column-names', 'lockUntil=lock_until']
    expect(await runCli([...PAUSE, ...flags], {})).toMatchObject({ status: 0 })
    expect(await isPaused('shedlock')).toBe(true)
    expect((await runCli(['doctor', '-d', file], {})).stdout).toContain('job_locks')
  })

  itIf(backend.dialect === 'postgres', 'a search path')(
    'is printed with its schema if a search path found it',
    async () => {
      await dataSource.query('create schema app')
      const url = `${database.url}?options=${encodeURIComponent('-c search_path=app,public')}`
      expect((await run(...PAUSE, '--url', url)).stderr).toContain(line('shedlock', 'public'))
      expect((await run('doctor', '--url', url)).stdout).toMatch(
        /\nwarning +table: .*found in schema 'public', .* in 'app'/,
      )
      const exec = [
        'exec',
        'job',
        '--wait',
        '1m',
        '--table-name',
        'new_locks',
        '--create-table',
        '--url',
        url,
        '--',
        'true',
      ]
      expect((await run(...exec)).stderr).toBe(line('new_locks', 'app'))
    },
  )

  itIf(backend.dialect === 'postgres', 'a server that takes any password')(
    'and a password that is a word of JSON does not change what is printed',
    async () => {
      await run(...PAUSE)
      for (const password of ['true', 'name', 'paused', 'job ']) {
        const url = new URL(database.url)
        url.password = password
        const { stdout, stderr } = await run('list', '--json', '--url', url.href)
        expect(JSON.parse(stdout)).toMatchObject([{ name: 'job', held: true, paused: true }])
        expect(stderr).toBe('')
      }
    },
  )

  // What follows is the same on each.
  if (backend !== backends[0]) return

  it('has the entityPrefix of the DataSource, and is the first of several entities', async () => {
    const file = join(project, 'prefix.cjs')
    const second = { tableName: 'locks', columnNames: { lockUntil: 'until' } }
    for (const names of [{ tableName: 'job_shedlock' }, { ...second, tableName: 'job_locks' }]) {
      await dataSource.query(`drop table if exists ${names.tableName}`)
      for (const statement of tableDefinition(dialects[backend.dialect], names).up)
        await dataSource.query(statement)
    }
    writeFileSync(
      file,
      `const { DataSource } = require('typeorm')
const { shedLockEntity } = require('./shedlock-typeorm.cjs')
const entities = [shedLockEntity(${JSON.stringify(second)}), shedLockEntity()]
module.exports = new DataSource({ ...${JSON.stringify(database.typeOrm)}, entityPrefix: 'job_', entities })`,
    )
    const stderr = async (...flags: string[]) =>
      (await runCli([...PAUSE, '-d', file, ...flags], {})).stderr.replace('mariadb at', 'mysql at')
    expect(await stderr()).toBe(line('job_shedlock') + UNKNOWN)
    expect(await stderr('--table-name', 'locks')).toBe(line('job_locks') + UNKNOWN)
  })

  it('is said by doctor to be a guess where the DataSource has no entity', async () => {
    await dataSource.query('drop table shedlock')
    const file = join(project, 'without-entity.cjs')
    const options = JSON.stringify(database.typeOrm)
    writeFileSync(file, `exports.dataSource = new (require('typeorm').DataSource)(${options})`)
    expect((await runCli(['doctor', '-d', file], {})).stdout).toMatch(
      /^note +place: looked for .* – the DataSource has no shedLockEntity/,
    )
  })

  it('is refused when two places are given', async () => {
    const file = join(project, '.env')
    const other = 'postgres://app:hunter2@other.example/app'
    writeFileSync(file, `DATABASE_URL=${other}\n`)
    for (const [args, message] of [
      [['--env', file], `DATABASE_URL of the environment and DATABASE_URL of ${file}`],
      [['--env', file, '--url', database.url], `--url and DATABASE_URL of ${file}`],
      [['-d', 'x.js', '--url', database.url], '--url and --data-source'],
      [['-d', 'x.js', '--env', file], `DATABASE_URL of the environment and DATABASE_URL of ${file}`],
    ] as const) {
      expect(await run(...PAUSE, ...args)).toEqual({
        status: 2,
        stdout: '',
        stderr: `shedlock-orm: ${message} may mean two databases – set only one of them.\n`,
      })
    }
    expect(await isPaused('shedlock')).toBe(false)
    writeFileSync(file, `DATABASE_URL=${database.url}\nOTHER=1\n`)
    expect((await run('list', '--env', file, '--url', database.url)).status).toBe(0)
    // What is named wins over what is exported.
    expect(await runCli([...PAUSE, '--url', database.url], { env: { DATABASE_URL: other } })).toMatchObject({
      status: 0,
      stderr: line('shedlock') + UNKNOWN,
    })
  })
})
