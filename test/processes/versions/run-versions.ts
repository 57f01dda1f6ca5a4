import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chaosDatabase } from '../chaos/chaos-database'
import type { ChaosDialect } from '../chaos/words'
import { monotonic, periodFromNow, readEvents, type LockEvent } from '../history/events'
import { History } from '../history/history'
import { judge, violationsOf } from '../history/referee'
import { program } from '../program'
import { NAMES, type InstanceOrder } from './order'

/** Processes of each version. */
const EACH = 2

export interface VersionsVerdict {
  /** How often each version did what, so that it can be seen that both took part. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** What each version concluded from the rows of each author. */
  readonly readings: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

/** Lets two versions of the package, unpacked in these folders, work on one table. */
export async function runVersions(
  folders: Readonly<Record<string, string>>,
  db: ChaosDialect,
  { milliseconds, url }: { milliseconds: number; url?: string | undefined },
): Promise<VersionsVerdict & { readonly database: string }> {
  const database = await chaosDatabase(db, Object.values(NAMES).flat(), url)
  const directory = mkdtempSync(join(tmpdir(), 'shedlock-versions-'))
  const { from, wallFrom } = periodFromNow()
  try {
    const versions = Object.keys(folders).flatMap((version) => Array.from({ length: EACH }, () => version))
    const file = program(join(__dirname, 'instance.ts'))
    const ended = await Promise.allSettled(
      versions.map(async (version, index) => {
        const order: InstanceOrder = {
          ...{ folder: folders[version] ?? '', version, connection: database.connection(), milliseconds },
          ...{ process: String(index), seed: index + 1, file: join(directory, `${index}.jsonl`) },
        }
        await instance(file, order)
        return readEvents(order.file)
      }),
    )
    const recorded = ended.flatMap((each) => {
      if (each.status === 'rejected') throw each.reason as Error
      return each.value
    })
    // A pause acquires the row without a new token.
    const changes = (await database.witness()).filter(
      (event) => event.type === 'change' && !NAMES.paused.includes(event.name),
    )
    const segment = { fault: 'none', from, to: monotonic(), wallFrom, wallTo: Date.now() }
    const events: LockEvent[] = [{ type: 'segment', ...segment }, ...recorded, ...changes]
    const violations = violationsOf(judge(events)).map(({ rule, what }) => `${rule}: ${what}`)
    return { database: database.version, ...figuresOf(events), violations }
  } finally {
    await database.close()
    rmSync(directory, { recursive: true })
  }
}

function figuresOf(events: readonly LockEvent[]): Pick<VersionsVerdict, 'figures' | 'readings'> {
  const started = new History(events).of('started')
  const versions = new Map(started.map(({ process, version = '' }) => [process, version]))
  const figures: Record<string, Record<string, number>> = {}
  const readings: Record<string, number> = {}
  for (const event of events) {
    if (!('process' in event)) continue
    const version = versions.get(event.process) ?? ''
    const own = (figures[version] ??= {})
    own[event.type] = (own[event.type] ?? 0) + 1
    if (event.type !== 'read') continue
    const what = `${version} read of ${event.author}: ${event.as}`
    readings[what] = (readings[what] ?? 0) + 1
  }
  return { figures, readings }
}

function instance(file: string, order: InstanceOrder): Promise<void> {
  const child = spawn(process.execPath, [file, JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (status) => {
      if (status === 0) resolve()
      else reject(new Error(`A process of ${order.version} ended with ${String(status)}.`))
    })
  })
}
