import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { program } from './program'

const backends = availableBackends().filter(({ shared }) => shared)

describeBackends(backends)('a process with --unhandled-rejections=strict on $name', (backend) => {
  it('bears a database that fails at every step: tasks keep their outcome, nothing leaks', async () => {
    const { database } = await openDatabase(backend, migrated())
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [
        '--unhandled-rejections=strict',
        program(join(__dirname, 'faults-at-every-step.ts')),
        JSON.stringify({ dialect: backend.dialect, options: { ...database.typeOrm, poolSize: 3 } }),
      ],
      { timeout: 150_000 },
    )
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      runs: 48,
      unlockFailures: 12,
      connections: 0,
      abortListeners: 0,
      timers: 0,
      processListeners: 0,
    })
  })
})
