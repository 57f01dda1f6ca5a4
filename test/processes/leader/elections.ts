import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppProcess } from '../app/app-process'
import type { Connection } from '../app/connection'
import { monotonic, type LockEvent } from '../history/events'

export const FAULTS = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const
type Fault = (typeof FAULTS)[number]

export interface Elected {
  /** What happened to the leader before. */
  readonly fault: Fault
  /** From the signal to the next leader's election, in milliseconds. */
  readonly after: number
}

interface Elections {
  readonly elected: readonly Elected[]
  readonly events: readonly LockEvent[]
}

/** Three processes stand; the leader is killed, paused or asked to end, again and again. */
export async function elections(
  connection: Connection,
  { lockAtMostFor, count }: { lockAtMostFor: number; count: number },
): Promise<Elections> {
  const directory = mkdtempSync(join(tmpdir(), 'shedlock-leader-'))
  const all: AppProcess[] = []
  const start = async (): Promise<void> => {
    const name = String(all.length)
    const started = new AppProcess({
      ...{ process: name, file: join(directory, `${name}.jsonl`), seed: all.length },
      ...{ orm: 'typeorm', connection, work: { kind: 'leader', lockAtMostFor } },
    })
    all.push(started)
    await started.ready()
  }
  /** Waits for a process to be elected that has not been elected before as often. */
  const terms = (process: AppProcess): number =>
    process.events().filter(({ type }) => type === 'token').length
  const next = async (before: ReadonlyMap<AppProcess, number>): Promise<AppProcess> => {
    for (;;) {
      const leader = all.find((process) => terms(process) > (before.get(process) ?? 0))
      if (leader) return leader
      await sleep(5)
    }
  }
  const known = (): Map<AppProcess, number> => new Map(all.map((process) => [process, terms(process)]))
  const elected: Elected[] = []
  try {
    await Promise.all([start(), start(), start()])
    let leader = await next(new Map())
    for (let index = 0; index < count; index++) {
      const fault = FAULTS[index % FAULTS.length] ?? 'SIGKILL'
      const deposed = leader
      const before = known()
      const signalled = monotonic()
      if (fault === 'SIGTERM') void deposed.stop()
      else deposed.signal(fault)
      leader = await next(before)
      const at = leader.events().findLast(({ type }) => type === 'token') as { at: number }
      elected.push({ fault, after: at.at - signalled })
      if (fault === 'SIGSTOP') deposed.signal('SIGCONT')
      else await Promise.all([deposed.exited(), start()])
    }
    return { elected, events: all.flatMap((process) => process.events()) }
  } finally {
    for (const process of all) process.signal('SIGKILL')
    rmSync(directory, { recursive: true })
  }
}
