import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '@jest/globals'
import { afterTest } from '../../test/after-test'
import { availableBackends, testBackends } from '../../test/backends'
import { migrated, openDatabase } from '../../test/backends/open-database'
import type { AppProcess } from '../workers/app-process'
import { AppProcesses } from '../workers/app-processes'
import { judge } from '../history/referee'

const FAULTS = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const

const shared = availableBackends().filter((backend) => backend.shared)
const one = shared.find(({ dialect }) => dialect !== 'sqlite') ?? shared[0]

testBackends(one ? [one] : [])(
  'a leader that is killed, paused or asked to end has one successor, and never one beside it: $name',
  async (backend) => {
    const { database } = await openDatabase(backend, migrated())
    const connection = { dialect: backend.dialect, url: database.url }
    const processes = new AppProcesses()
    afterTest(() => processes.close())
    const start = (): Promise<void> =>
      processes.start({ orm: 'typeorm', connection, work: { kind: 'leader', lockAtMostFor: 3_000 } }).ready()
    await Promise.all([start(), start(), start()])
    let leader = await elected(processes)
    for (const fault of FAULTS) {
      const [deposed, before] = [leader, termsOf(processes)]
      if (fault === 'SIGTERM') void deposed.stop()
      else deposed.signal(fault)
      leader = await elected(processes, before)
      if (fault === 'SIGSTOP') deposed.signal('SIGCONT')
      else await Promise.all([deposed.exited(), start()])
    }
    const events = processes.events()
    expect(events.filter(({ type }) => type === 'token').length).toBeGreaterThan(FAULTS.length)
    expect(judge(events)).toEqual([])
  },
)

/** Returns how often each process has been elected. */
function termsOf({ current }: AppProcesses): Map<AppProcess, number> {
  return new Map(current.map((each) => [each, each.events().filter(({ type }) => type === 'token').length]))
}

/** Waits until a process is elected more often than before. */
async function elected(processes: AppProcesses, before = new Map<AppProcess, number>()): Promise<AppProcess> {
  for (;;) {
    for (const [process, count] of termsOf(processes)) if (count > (before.get(process) ?? 0)) return process
    await sleep(5)
  }
}
