import { expect } from '@jest/globals'
import { afterTest } from '../../test/after-test'
import { availableBackends, describeBackends } from '../../test/backends'
import { migrated, openDatabase } from '../../test/backends/open-database'
import { eventually } from '../../test/eventually'
import { itIf } from '../../test/it-if'
import type { AppProcess } from './app-process'
import { AppProcesses } from './app-processes'
import { canFakeTime } from '../../test/processes/fake-time'
import { judge } from '../history/referee'

/** Not SQLite: its clock is that of the process. */
const backends = availableBackends('postgres', 'mariadb', 'mysql')
const ENOUGH = 6

describeBackends(backends)('two instances whose clocks differ on $name', (backend) => {
  /** Starts two instances whose job is due several times a second. */
  const startWith = async (clock: string) => {
    const { database } = await openDatabase(backend, migrated())
    const processes = new AppProcesses()
    afterTest(() => processes.close())
    const job = { name: 'tick', every: 300, lockAtMostFor: '1m', runsFor: [0, 1], slot: true } as const
    const connection = { dialect: backend.dialect, url: database.url }
    const plan = { orm: 'typeorm', connection, work: { kind: 'jobs', jobs: [job] } } as const
    const both = [processes.start(plan), processes.start(plan, { clock })] as const
    await processes.ready()
    return both
  }
  /** Waits until there are enough of each. The error of the last attempt shows what each instance did last. */
  const enough = (lists: () => unknown[][], instances: readonly AppProcess[]): Promise<void> =>
    eventually(() => {
      const counts = lists().map(({ length }) => length)
      if (counts.every((count) => count > ENOUGH)) return
      const lastOf = (instance: AppProcess): string => JSON.stringify(instance.events().slice(-12))
      throw new Error(`Counted ${counts.join(' and ')}:\n${instances.map(lastOf).join('\n')}`)
    })
  const slots = (instance: AppProcess): unknown[] =>
    instance.events().flatMap((event) => (event.type === 'slot' ? [event.slot] : []))
  /** Another reason is `held`, while the other instance runs. A timer that was late may come to its own last slot again. */
  const refusals = (instance: AppProcess, reason: 'already-run' | 'slot-too-far-ahead'): unknown[] => {
    const own = slots(instance)
    return instance
      .events()
      .filter((event) => event.type === 'refused' && event.reason === reason && !own.includes(event.slot))
  }

  itIf(canFakeTime, 'libfaketime')('by half a minute run each slot once', async () => {
    const [right, ahead] = await startWith('+30s')
    // Each slot of the right one has run before.
    await enough(() => [slots(ahead), refusals(right, 'already-run')], [ahead, right])
    expect(refusals(ahead, 'already-run')).toEqual([])
    await Promise.all([right.stop(), ahead.stop()])
    expect(judge([...right.events(), ...ahead.events()])).toEqual([])
  })

  itIf(canFakeTime, 'libfaketime')(
    'by hours: the one that is ahead is refused, and does not keep the other from running',
    async () => {
      const [right, ahead] = await startWith('+3h')
      await enough(() => [refusals(ahead, 'slot-too-far-ahead'), slots(right)], [ahead, right])
      expect([slots(ahead), refusals(right, 'already-run')]).toEqual([[], []])
    },
  )
})
