import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from '../app/connection'
import { chaosDatabase } from '../chaos/chaos-database'
import type { ChaosDialect } from '../chaos/words'
import { monotonic, periodFromNow, readEvents, type LockEvent } from '../history/events'
import { History } from '../history/history'
import { judge, violationsOf } from '../history/referee'
import { program } from '../program'

/** What one process of a version does. */
export interface InstanceOrder {
  /** The folder of the unpacked package that it loads. */
  readonly folder: string
  /** Begins the owner of its locks. */
  readonly version: string
  readonly process: string
  readonly connection: Connection
  readonly names: typeof NAMES
  readonly seed: number
  readonly milliseconds: number
  /** The file in which it records what it does. */
  readonly file: string
}

/** Locks for runs, for runs with a slot, and for runs that are paused now and then. */
const NAMES = { plain: ['plain-1', 'plain-2'], slot: ['slot-1', 'slot-2'], paused: ['paused-1'] }
/** Processes of each version. */
const EACH = 2

export interface VersionsVerdict {
  readonly database: string
  /** How often each version did what, so that it can be seen that both took part. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly violations: readonly string[]
}

/** Lets two versions of the package, unpacked in these folders, work on one table. */
export async function runVersions(
  folders: Readonly<Record<string, string>>,
  db: ChaosDialect,
  { milliseconds, url }: { milliseconds: number; url?: string | undefined },
): Promise<VersionsVerdict> {
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
          ...{ names: NAMES, process: String(index), seed: index + 1 },
          file: join(directory, `${index}.jsonl`),
        }
        const child = spawn(process.execPath, [file, JSON.stringify(order)], { stdio: 'inherit' })
        const [status] = (await once(child, 'exit')) as [number | null]
        if (status !== 0) throw new Error(`A process of ${version} ended with ${String(status)}.`)
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
    return { database: database.version, figures: figuresOf(events), violations }
  } finally {
    await database.close()
    rmSync(directory, { recursive: true })
  }
}

function figuresOf(events: readonly LockEvent[]): VersionsVerdict['figures'] {
  const started = new History(events).of('started')
  const versions = new Map(started.map(({ process, version = '' }) => [process, version]))
  const figures: Record<string, Record<string, number>> = {}
  for (const event of events) {
    if (!('process' in event)) continue
    const own = (figures[versions.get(event.process) ?? ''] ??= {})
    own[event.type] = (own[event.type] ?? 0) + 1
  }
  return figures
}
