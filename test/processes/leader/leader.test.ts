import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, jest } from '@jest/globals'
import { afterTest } from '../../after-test'
import { availableBackends, testBackends } from '../../backends'
import { migrated, openDatabase } from '../../backends/open-database'
import { AppProcess } from '../app/app-process'
import type { Connection } from '../app/connection'
import { monotonic } from '../history/events'
import { judge } from '../history/referee'

const FAULTS = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const
/** `ELECTIONS=50 npx jest test/processes/leader` prints how long each of 50 elections took. */
const { ELECTIONS } = process.env
if (ELECTIONS) jest.setTimeout(Number(ELECTIONS) * 10_000)

const shared = availableBackends().filter((backend) => backend.shared)
const one = shared.find(({ dialect }) => dialect !== 'sqlite') ?? shared[0]

testBackends(one ? [one] : [])(
  'a leader that is killed, paused or asked to end has one successor, and never one beside it: $name',
  async (backend) => {
    const { database } = await openDatabase(backend, migrated())
    const all = standing({ dialect: backend.dialect, url: database.url })
    await Promise.all([all.start(), all.start(), all.start()])
    let leader = await all.elected(new Map())
    for (let index = 0; index < Number(ELECTIONS ?? FAULTS.length); index++) {
      const fault = FAULTS[index % FAULTS.length] ?? 'SIGKILL'
      const [deposed, before, signalled] = [leader, all.terms(), monotonic()]
      if (fault === 'SIGTERM') void deposed.stop()
      else deposed.signal(fault)
      leader = await all.elected(before)
      if (ELECTIONS) console.log(`${fault}: the next leader after ${Math.round(monotonic() - signalled)} ms`)
      if (fault === 'SIGSTOP') deposed.signal('SIGCONT')
      else await Promise.all([deposed.exited(), all.start()])
    }
    const events = all.processes.flatMap((process) => process.events())
    expect(events.filter(({ type }) => type === 'token').length).toBeGreaterThan(FAULTS.length)
    expect(judge(events)).toEqual([])
  },
)

/** Returns processes that stand for election. */
function standing(connection: Connection) {
  const directory = mkdtempSync(join(tmpdir(), 'shedlock-leader-'))
  const processes: AppProcess[] = []
  afterTest(async () => {
    for (const process of processes) process.signal('SIGKILL')
    await Promise.all(processes.map((process) => process.exited()))
    rmSync(directory, { recursive: true })
  })
  /** Returns how often each process has been elected. */
  const terms = (): Map<AppProcess, number> =>
    new Map(processes.map((each) => [each, each.events().filter(({ type }) => type === 'token').length]))
  return {
    processes,
    terms,
    start: async (): Promise<void> => {
      const name = String(processes.length)
      const started = new AppProcess({
        ...{ process: name, file: join(directory, `${name}.jsonl`), seed: processes.length },
        ...{ orm: 'typeorm', connection, work: { kind: 'leader', lockAtMostFor: 3_000 } },
      })
      processes.push(started)
      await started.ready()
    },
    /** Waits until a process is elected more often than before. */
    elected: async (before: ReadonlyMap<AppProcess, number>): Promise<AppProcess> => {
      for (;;) {
        for (const [process, count] of terms()) if (count > (before.get(process) ?? 0)) return process
        await sleep(5)
      }
    },
  }
}
