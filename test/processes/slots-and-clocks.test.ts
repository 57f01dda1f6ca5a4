import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beforeEach, expect } from '@jest/globals'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { canFakeTime, clockOf } from './fake-time'
import { program } from './program'

/** Not SQLite: its clock is that of the process. */
const backends = availableBackends().filter(({ name }) => ['postgres', 'mariadb', 'mysql'].includes(name))
const ENOUGH = 6
const worker = program(join(__dirname, 'slot-worker.ts'))

/** An instance with a clock of its own, and what it printed. */
function startInstance(typeOrm: object, clock: string | undefined) {
  const child = fork(worker, [JSON.stringify(typeOrm)], {
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

describeBackends(backends)('two instances whose clocks differ on $name', (backend) => {
  let database: TestDatabase

  beforeEach(async () => {
    ;({ database } = await openDatabase(backend, migrated()))
  })

  const together = async (clock: string, until: (right: string[], wrong: string[]) => void) => {
    const instances = [
      startInstance(database.typeOrm, undefined),
      startInstance(database.typeOrm, clock),
    ] as const
    try {
      await eventually(() => {
        until(instances[0].lines(), instances[1].lines())
      })
    } finally {
      await Promise.all(instances.map((instance) => instance.stop()))
    }
    return instances.map((instance) => instance.lines())
  }

  itIf(canFakeTime, 'libfaketime')('by half a minute run each slot once', async () => {
    const [right = [], ahead = []] = await together('+30s', (on, before) => {
      // Every slot of the right one was run before.
      expect(before.length).toBeGreaterThan(ENOUGH)
      expect(on.filter((line) => line === 'already-run').length).toBeGreaterThan(ENOUGH)
    })
    const slots = [...right, ...ahead].filter((line) => line !== 'already-run')
    expect(slots).toEqual([...new Set(slots)])
    expect(ahead).not.toContain('already-run')
  })

  itIf(canFakeTime, 'libfaketime')(
    'by hours: the one that is ahead says so, and does not keep the other from running',
    async () => {
      const [right = [], ahead = []] = await together('+3h', (on, before) => {
        expect(before.length).toBeGreaterThan(ENOUGH)
        expect(on.length).toBeGreaterThan(ENOUGH)
      })
      expect(right.filter((line) => !/^[\d-]+T[\d:.]+Z$/.test(line))).toEqual([])
      expect(
        ahead.filter((line) => !line.includes("lies more than a minute ahead of the database's clock")),
      ).toEqual([])
    },
  )
})
