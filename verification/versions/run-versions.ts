import { join } from 'node:path'
import { AppProcesses } from '../workers/app-processes'
import type { Connection } from '../workers/connection'
import type { Identity } from '../workers/plan'
import { chaosDatabase } from '../chaos/chaos-database'
import type { ChaosDialect } from '../chaos/words'
import { beginPeriod, type LockEvent, type Segment } from '../history/events'
import { History } from '../history/history'
import { judge, violationsOf } from '../history/referee'
import { program } from '../../test/processes/program'

/** What one process of a version does. */
export interface InstanceOrder extends Identity {
  /** The folder of the unpacked package that it loads. */
  readonly folder: string
  /** Begins the owner of its locks. */
  readonly version: string
  readonly connection: Connection
  readonly names: typeof NAMES
  readonly milliseconds: number
}

/** Locks for runs, for runs with a slot, and for runs that are paused now and then. */
const NAMES = { plain: ['plain-1', 'plain-2'], slot: ['slot-1', 'slot-2'], paused: ['paused-1'] }
/** Processes of each version. */
const EACH = 2

/** Lets two versions of the package, unpacked in these folders, work on one table. */
export async function runVersions(
  folders: Readonly<Record<string, string>>,
  db: ChaosDialect,
  { milliseconds, url }: { milliseconds: number; url?: string | undefined },
) {
  const database = await chaosDatabase(db, Object.values(NAMES).flat(), url)
  const processes = new AppProcesses<InstanceOrder>(1, program(join(__dirname, 'instance.ts')))
  const ended = beginPeriod()
  try {
    for (const [version, folder] of Object.entries(folders))
      for (let count = 0; count < EACH; count++)
        processes.start({ folder, version, connection: database.connection(), milliseconds, names: NAMES })
    await Promise.all(processes.current.map((each) => each.exited()))
    // A pause acquires the row without a new token.
    const changes = (await database.witness()).filter(
      (event) => event.type === 'change' && !NAMES.paused.includes(event.name),
    )
    const segment: Segment = { type: 'segment', fault: 'none', ...ended() }
    const events = [segment, ...processes.events(), ...changes]
    const violations = violationsOf(judge(events)).map(({ rule, what }) => `${rule}: ${what}`)
    return { database: database.version, figures: figuresOf(events), violations }
  } finally {
    await processes.close()
    await database.close()
  }
}

/** Counts how often each version did what, so that it can be seen that both took part. */
function figuresOf(events: readonly LockEvent[]): Record<string, Record<string, number>> {
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
