import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from '@jest/globals'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { builtCli } from '../cli/built-cli'
import { eventually } from '../eventually'
import { root } from '../project'
import { temporaryFolder } from '../temporary-folder'

const backends = availableBackends().filter(({ shared }) => shared)
const EXEC = ['exec', 'migrate', '--wait', '5m', '--create-table', '--slot', '2026-11-21T10:00:00Z']

describeBackends(backends)('instances that start together on an empty database: $name', (backend) => {
  let database: TestDatabase
  let folder: string
  let children: ChildProcess[]
  let errors: string[]

  beforeEach(async () => {
    database = await backend.create()
    afterTest(() => database.drop())
    // The database that is empty is a file that is not there.
    if (backend.dialect === 'sqlite') rmSync(database.url.replace('file:', ''), { force: true })
    folder = temporaryFolder()
    writeFileSync(join(folder, 'begun'), '')
    writeFileSync(join(folder, 'done'), '')
  })

  /** With the migration that it started, which would go on alone: the leader of a group of its own. */
  const kill = ({ pid, exitCode, signalCode }: ChildProcess): void => {
    if (exitCode !== null || signalCode !== null) return
    const migration = readFileSync(join(folder, `migration-${pid}`), { encoding: 'utf8', flag: 'a+' })
    for (const group of [Number(pid), Number(migration)]) if (group > 0) process.kill(-group, 'SIGKILL')
  }
  const lines = (file: string): string[] =>
    readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean)
  /** A migration that lasts until it may end. */
  const start = (count: number, ...options: string[]): Promise<unknown[]> => {
    const migration =
      'echo $$ > migration-$PPID; echo $PPID >> begun; until [ -e go ]; do sleep 0.1; done; echo $PPID >> done'
    errors = Array<string>(count).fill('')
    children = errors.map((_, index) => {
      const child = spawn(process.execPath, [builtCli(), ...EXEC, ...options, '--', 'sh', '-c', migration], {
        cwd: folder,
        env: { ...process.env, DATABASE_URL: database.url, NODE_PATH: join(root, 'node_modules') },
        detached: true,
      })
      afterTest(() => kill(child))
      child.stderr.on('data', (chunk) => (errors[index] = `${errors[index]}${String(chunk)}`))
      return child
    })
    return Promise.all(children.map(async (child) => ((await once(child, 'exit')) as unknown[])[0]))
  }
  const waiting = (): string[] => errors.filter((each) => each.includes('waiting for 5m at most'))

  it('one migrates, nine wait, and all go on', async () => {
    const ended = start(10)
    await eventually(() => expect(waiting()).toHaveLength(9))
    writeFileSync(join(folder, 'go'), '')
    expect(await ended).toEqual(Array(10).fill(0))
    expect(lines('begun')).toHaveLength(1)
    expect(lines('done')).toEqual(lines('begun'))
  })

  it('if the first one is killed in the middle, another one migrates', async () => {
    const ended = start(4, '--lock-at-most-for', '5s', '--keep-alive')
    await eventually(() => expect([lines('begun').length, waiting().length]).toEqual([1, 3]))
    const isFirst = ({ pid }: ChildProcess): boolean => String(pid) === lines('begun')[0]
    children.filter(isFirst).forEach(kill)
    await eventually(() => expect(lines('begun')).toHaveLength(2))
    writeFileSync(join(folder, 'go'), '')
    expect(await ended).toEqual(children.map((child) => (isFirst(child) ? null : 0)))
    expect(lines('done')).toEqual(lines('begun').slice(1))
  })
})
