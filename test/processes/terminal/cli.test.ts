import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataSource } from 'typeorm'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../../src/typeorm/typeorm-lock-provider'
import { afterFile, afterTest } from '../../after-test'
import { builtCli, runCli } from '../../cli/built-cli'
import { temporaryFolder } from '../../temporary-folder'
import { eventually } from '../../eventually'
import { openTerminal } from './terminal'

const LONG_NAME = 'import-customers-of-every-tenant-into-the-data-warehouse-in-eu-1'
const REASON =
  'migration of the archive to the new storage, which takes until Sunday; ask Ann before you resume'
let url: string

beforeAll(async () => {
  const database = join(temporaryFolder(), 'locks.sqlite')
  url = `file:${database}`
  const dataSource = await new DataSource({ type: 'better-sqlite3', database }).initialize()
  afterFile(() => dataSource.destroy())
  const lockedBy = 'nightly-worker-deployment-7d9f8b6c5-x2x4z/1'
  const provider = typeOrmLockProvider(dataSource, { lockedBy })
  await provider.table.create()
  const run = async (name: string, error?: Error) =>
    (await provider.lock({ name, lockAtMostFor: '1h' }))?.unlock(
      error ? { outcome: 'failed', error } : { outcome: 'succeeded' },
    )
  await run('clean-up')
  await run(LONG_NAME, new RangeError())
  await run('report')
  await provider.lock({ name: 'vacuum', lockAtMostFor: '90m' })
  await provider.table.pause('archive', { duration: '8h', reason: REASON, pausedBy: 'ann' })
  await dataSource.query(
    `insert into shedlock values ('java-job', '9999-12-31 23:59:59.999', '2099-01-01 00:00:00.000', 'java')`,
  )
})

/** What the command leaves on a terminal. */
async function shown(
  args: readonly string[],
  columns: number,
  env?: Readonly<Record<string, string>>,
): Promise<{ lines: string[]; written: string }> {
  const screen = openTerminal([process.execPath, builtCli(), ...args, '--url', url], { columns }, env)
  afterTest(() => screen.close())
  await screen.ended
  expect(screen.wrapped()).toEqual([])
  return { lines: screen.lines().filter((line) => line !== ''), written: screen.written() }
}

it.each([70, 80, 120, 160])(
  'in %d columns list fits, trouble first, with whole names, the error and what to do next',
  async (columns) => {
    const { lines } = await shown(['list'], columns)
    const text = lines.map((line) => line.trim()).join(' ')
    const begins = lines.filter((line) => /^\S/.test(line)).map((line) => line.split(' ')[0])
    const names = [LONG_NAME, 'java-job', 'vacuum', 'archive', 'clean-up', 'report']
    expect(begins).toEqual([...names, 'failed', 'stuck', '2', 'shedlock-orm'])
    expect(text).toMatch(new RegExp(`${LONG_NAME} +failed, .* ago: RangeError \\(nightly`))
    expect(text).toContain(REASON)
    expect(text).toMatch(/failed +Correct the error in its log.*stuck +See that no run goes on/)
    expect(lines.slice(-2)).toEqual([
      '2 of 6 jobs need you.',
      expect.stringMatching(/ check .* no longer runs\.$/),
    ])
  },
)

describe.each([80, 120, 160])('in %d columns', (columns) => {
  it('list of one lock, check and an error are broken between words', async () => {
    const one = await shown(['list', 'archive'], columns)
    expect(one.lines.map((line) => line.trim()).join(' ')).toContain(`paused by ann: ${REASON}`)
    const check = await shown(['check', 'java-job=1h', `${LONG_NAME}=1ms`, 'never=25h'], columns)
    expect(check.lines.join()).toContain('late, never ran, limit 1d 1h')
    const missing = await shown(['list', '--table-name', 'other'], columns)
    expect(missing.lines[0]).toMatch(/^shedlock-orm: There is no lock table 'other'/)
  })

  it('doctor prints the same SQL as into a pipe, in short lines', async () => {
    const { lines } = await shown(['doctor'], columns)
    const words = (text: string): string => text.split(/\s+/).join(' ').trim()
    const { stdout } = await runCli(['doctor', '--url', url])
    const piped = stdout.split('\n').filter((line) => line.startsWith('  '))
    expect(piped.join()).toMatch(/where coalesce\(/)
    expect(words(lines.join(' '))).toContain(words(piped.slice(0, 6).join(' ')))
  })
})

it('has colours on a terminal only, and no colours with NO_COLOR', async () => {
  expect((await shown(['list'], 80)).written).toMatch(/\u001b\[31mfailed/)
  const quiet = await shown(['list'], 80, { NO_COLOR: '1' })
  expect(quiet.written).not.toContain('\u001b')
  const { stdout } = await runCli(['list', '--url', url])
  expect(stdout).not.toContain('\u001b')
  expect(stdout).toContain(REASON)
})

it('exec leaves Ctrl+C to the terminal, and the command can ask for a password', async () => {
  const command = `let interrupts = 0
    process.on('SIGINT', () => console.log('interrupt ' + ++interrupts))
    process.on('SIGUSR2', () => process.exit(interrupts))
    require('node:fs').openSync('/dev/tty')
    console.log('parent ' + process.ppid)
    process.stdin.resume()`
  const file = join(temporaryFolder(), 'command.cjs')
  writeFileSync(file, command)
  const exec = ['exec', 'on-terminal', '--lock-at-most-for', '10m', '--quiet', '--url', url]
  const screen = openTerminal([process.execPath, builtCli(), ...exec, '--', process.execPath, file], {
    columns: 80,
  })
  afterTest(() => screen.close())
  const parent = await eventually(() => {
    const [, pid] = /parent (\d+)/.exec(screen.written()) ?? []
    expect(pid).toBeDefined()
    return Number(pid)
  })
  screen.type('\u0003')
  await eventually(() => expect(screen.written()).toContain('interrupt 1'))
  // Comes after what exec would have passed on.
  process.kill(parent, 'SIGUSR2')
  expect(await screen.ended).toBe(1)
})
