import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import type { LockRecord } from '../../src/sql/records'
import { availableBackends, describeBackends } from '../backends'
import { ALL_PACKAGES, builtCli, failed, project, runCli } from './built-cli'
import { openCli } from './open-cli'

/** Somewhere else, with the packages of this project. */
const folder = project({}, ALL_PACKAGES)

/** Runs a command in a terminal of its own, and types once it asks. What is typed before could be lost or mean something else. */
function answerOnTerminal(
  typed: string,
  command: readonly string[],
  meanwhile = () => Promise.resolve(),
): Promise<number | null> {
  const quoted = command.map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', quoted, '/dev/null'])
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (shown.includes('[y/N]')) return
    shown += text
    if (shown.includes('[y/N]')) void meanwhile().then(() => child.stdin.write(typed))
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', resolve)
  })
}

// What commands print is the same on each database. That a release is of the lock that was seen is in test/web/lock-page.test.ts too.
describeBackends(availableBackends('sqlite'))('list and release on $name', (backend) => {
  it('lists the locks and their holders', async () => {
    const { provider, run } = await openCli(backend)
    expect((await run('list')).stdout).toMatch(
      /^There are no locks: .* check whether they use this table\.\n$/,
    )
    expect((await run('list', '--held')).stdout).toBe('No lock is held.\n')
    await provider.lock({ name: 'report', lockAtMostFor: '90m' })
    const free = await provider.lock({ name: 'cleanup', lockAtMostFor: '1h' })
    await free?.unlock()

    const { status, stdout } = await run('list')
    expect(status).toBe(0)
    expect(stdout).toMatch(
      /^report +running for \d+m?s of 1h 30m \(host-1\/42\)\ncleanup +idle, unlocked \d+m?s ago \(host-1\/42\)\n$/,
    )
    expect((await run('list', '--held')).stdout).not.toContain('cleanup')
    await (await provider.lock({ name: 'vacuum', lockAtMostFor: '1h' }))?.unlock({ outcome: 'failed' })
    const trouble = (await run('list')).stdout.split('\n').slice(0, -1)
    expect(trouble.map((line) => line.split(' ')[0])).toEqual(['vacuum', 'report', 'cleanup'])

    const locks = JSON.parse((await run('list', '--json')).stdout) as LockRecord[]
    const { name, held, lockedBy, lockedAt, lockUntil } = (await provider.table.find('report')) ?? {}
    const shown = { name, held, lockedBy, lockedAt, lockUntil }
    expect(locks.find((lock) => lock.name === 'report')).toMatchObject(
      JSON.parse(JSON.stringify(shown)) as object,
    )
  })

  it('ends quietly when the reader of the output has gone', async () => {
    const { child, said } = (await openCli(backend)).start('list')
    child.stdout.destroy()
    expect(await once(child, 'close')).toEqual([0, null])
    expect(said('stderr')).toBe('')
  })

  it('shows one lock, or says that there is none', async () => {
    const { provider, run } = await openCli(backend)
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    expect((await run('list', 'report')).stdout).toMatch(
      /^name +report\nstate +running, for \d+m?s of 1h\nnext +Wait: .*\nnever +Release it .*\nowner +host-1\/42\nprocess +cannot be seen from here\n/,
    )
    expect(JSON.parse((await run('list', 'report', '--json')).stdout)).toMatchObject({
      name: 'report',
      held: true,
    })
    expect(await run('list', 'reprot')).toEqual({
      ...{ status: 1, stdout: '' },
      stderr:
        "shedlock-orm: There is no lock 'reprot' in the table – check the name, and whether the job uses this table: shedlock-orm list shows all of them.\n",
    })
  })

  it('escapes control characters that other programs wrote, and prints the same value as JSON', async () => {
    const { dataSource, run } = await openCli(backend)
    const name = 'a\u001b[2J\u202eb\u009b31m\u2028\n9 errors'
    const [forEver, ahead] = ["'9999-12-31 23:59:59.999'", "'2999-01-01 00:00:00.000'"]
    await dataSource.query(
      `insert into shedlock (name, lock_until, locked_at, locked_by) values (?, ${forEver}, ${forEver}, ?),
      ('until', ${forEver}, current_timestamp, 'host'), ('ahead', ${ahead}, ${ahead}, 'host')`,
      [name, 'host\u0007\nok       table: all is well'],
    )
    const shown = 'a\\u001b[2J\\u202eb\\u009b31m\\u2028\\u000a9 errors'
    for (const command of [
      ['list'],
      ['list', name],
      ['doctor'],
      ['pause', name, '--duration', '1h', '--reason', 'r'],
    ]) {
      const { stdout, stderr } = await run(...command)
      expect(stdout + stderr).toContain(command[0] === 'pause' ? shown.slice(0, 20) : shown)
      expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\u2028\u202e]|\nok +table|\n9 errors/u)
      // Such times are a finding of the table already.
      expect(stdout).not.toContain(' is stuck: ')
    }
    expect((await run('list')).stdout).toContain('held for ever')
    for (const command of [
      ['list', '--json'],
      ['list', '--json', name],
      ['doctor', '--json'],
    ]) {
      const { stdout } = await run(...command)
      expect(stdout).toContain('a\\u001b[2J\\u202eb\\u009b31m\\u2028\\n9 errors')
      expect(stdout).not.toMatch(/[^\P{Cc}\n]|[\u2028\u202e]/u)
      expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(name).slice(1, -1))
    }
  })

  it('releases a held lock with --yes', async () => {
    const { provider, run, isHeld } = await openCli(backend)
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    expect(await run('release', 'report', '--yes')).toMatchObject({
      status: 0,
      // Nobody repeats the run whose lock this was.
      stdout: expect.stringContaining('\nThe lock was released. If its work is not done, run it now.\n'),
    })
    expect(await isHeld('report')).toBe(false)
    expect((await run('release', 'report')).stdout).toContain('Nobody holds the lock.')
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    const { stdout } = await run('release', 'report', '--yes', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ held: false })
    expect((await run('release', 'other', '--yes')).status).toBe(1)
  })

  it('refers to the doctor when the database does not change the row', async () => {
    const { dataSource, provider, run } = await openCli(backend)
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    await dataSource.query('create trigger ignored before update on shedlock begin select raise(ignore); end')
    expect(await run('release', 'report', '--yes')).toEqual(
      failed(3, 'find it with npx shedlock-orm doctor, and let this user'),
    )
  })

  it('asks before it releases', async () => {
    const { database, dataSource, provider, run, isHeld } = await openCli(backend)
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    expect((await run('release', 'report')).status).toBe(2)
    const command = [process.execPath, builtCli(), 'release', 'report', '--url', database.url]
    const ask = (typed: string): Promise<number | null> => answerOnTerminal(typed, command)
    const [controlC, controlD] = ['\u0003', '\u0004']
    expect(await ask('n\n')).toBe(1)
    expect(await ask(controlD)).toBe(1)
    expect(await ask(controlC)).toBe(1)
    expect(await isHeld('report')).toBe(true)
    // A Java service has the same owner in each acquisition, so the end of its lease is all that differs.
    const setUntil = async (year: number): Promise<void> => {
      const literal = `'${year}-01-01 00:00:00'`
      await dataSource.query(`update shedlock set locked_by = 'java-host', lock_until = ${literal}`)
    }
    await setUntil(2998)
    expect(await answerOnTerminal('y\n', command, () => setUntil(2999))).toBe(1)
    expect(await isHeld('report')).toBe(true)
    expect(await ask('Yes\n')).toBe(0)
    expect(await isHeld('report')).toBe(false)
  })

  // As ts-node/register: a loader that only knows require, with the metadata of decorators, which tsx does not have.
  const register = join(folder, 'like-ts-node.cjs')
  writeFileSync(
    register,
    `const { readFileSync } = require('node:fs')
const typescript = require('typescript')
const compilerOptions = { module: 1, target: 9, experimentalDecorators: true, emitDecoratorMetadata: true }
require.extensions['.ts'] = (module, file) =>
  module._compile(typescript.transpileModule(readFileSync(file, 'utf8'), { compilerOptions }).outputText, file)
`,
  )
  const entity = '@Entity() class Order { @PrimaryColumn() id!: number; @Column() paid!: boolean }'

  it.each([
    ['typeorm', 'cjs', '', 'module.exports = new DataSource(options)'],
    ['typeorm', 'mjs', '', 'export const source = new DataSource(options)\nexport default source'],
    // Without a type in package.json, it is required first.
    ['typeorm', 'js', '', 'export default await Promise.resolve(new DataSource(options))'],
    ['typeorm', 'mts', '', 'export default new DataSource(options)'],
    ['typeorm', 'ts', '', 'export const AppDataSource: DataSource = new DataSource(options)'],
    [
      'typeorm',
      'nest.ts',
      `--require ${register}`,
      `${entity}\nexport default new DataSource({ ...options, entities: [Order] })`,
    ],
    [
      ...['typeorm-0.3', 'cjs', ''],
      'exports.promised = new DataSource({ type: options.type, database: options.database }).initialize()',
    ],
  ])('reads the DataSource of a file: %s, %s', async (typeorm, extension, loader, exported) => {
    const { database, dataSource, provider, isHeld } = await openCli(backend)
    await provider.lock({ name: 'report', lockAtMostFor: '1h' })
    const [migration, subscriber] = [join(folder, 'migration.cjs'), join(folder, 'subscriber.cjs')]
    const up = "up(runner) { return runner.query('drop table shedlock') }"
    writeFileSync(migration, `exports.Drop = class Drop1735689600001 { ${up} }`)
    writeFileSync(subscriber, "throw new Error('loaded')")
    const ran = { synchronize: true, dropSchema: true, migrations: [migration], migrationsRun: true }
    const given = { ...database.typeOrm, ...ran, subscribers: [subscriber], logging: true }
    const options = JSON.stringify(given)
    const names = '{ Column, DataSource, Entity, PrimaryColumn }'
    const load =
      extension === 'cjs' ? `const ${names} = require('${typeorm}')` : `import ${names} from '${typeorm}'`
    const type = extension.endsWith('ts') ? ': any' : ''
    const file = join(folder, `data-source.${extension}`)
    writeFileSync(file, `${load}\nconst options${type} = ${options}\n${exported}\n`)
    const env = { NODE_OPTIONS: loader }
    const { stdout, stderr, status } = await runCli(['list', '--data-source', file], { env })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^report +running/)
    // Nothing of that was obeyed.
    expect(await isHeld('report')).toBe(true)
    expect(await dataSource.query("select name from sqlite_master where name = 'order'")).toEqual([])
  })
})
