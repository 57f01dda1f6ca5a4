import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DataSource } from 'typeorm'
import { expect } from '@jest/globals'
import { availableBackends, describeBackends } from '../backends'
import { observeLockTable } from '../conformance/lock-table-observer'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { canFakeTime, clockOf } from './fake-time'

/** Not SQLite: its clock is that of the process. */
const backends = availableBackends().filter(({ name }) => ['postgres', 'mariadb', 'mysql'].includes(name))
const ENOUGH = 6

/** An instance with a clock of its own, and what it printed. */
function startInstance(typeOrm: object, clock: string | undefined) {
  const child = fork(join(__dirname, 'slot-worker.ts'), [JSON.stringify(typeOrm)], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, ...clockOf(clock) },
  })
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  return {
    lines: () => printed.split('\n').slice(0, -1),
    stop: async () => {
      child.disconnect()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

describeBackends(backends)('two instances whose clocks are hours apart on $name', (backend) => {
  itIf(canFakeTime, 'libfaketime')('run each slot once', async () => {
    const database = await backend.create()
    const observer = await new DataSource(database.typeOrm).initialize()
    await observeLockTable(observer, backend.dialect).createTable()
    await observer.destroy()
    const right = startInstance(database.typeOrm, undefined)
    const threeHoursAhead = startInstance(database.typeOrm, '+3h')
    try {
      // By its clock every slot of the right one is three hours late, and was run in between.
      await eventually(() => {
        expect(threeHoursAhead.lines().length).toBeGreaterThan(ENOUGH)
        expect(right.lines().filter((line) => line === 'already-run').length).toBeGreaterThan(ENOUGH)
      })
    } finally {
      await Promise.all([right.stop(), threeHoursAhead.stop()])
      await database.drop()
    }
    const slots = [...right.lines(), ...threeHoursAhead.lines()].filter((line) => line !== 'already-run')
    expect(slots).toEqual([...new Set(slots)])
    expect(threeHoursAhead.lines()).not.toContain('already-run')
  })
})
