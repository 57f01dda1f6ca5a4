/** A lock provider that keeps its rows in a Map, and the suite that checks it: the shortest storage that follows every rule. */
/* oxlint-disable typescript/require-await -- a real storage is asked, and answers later */
import { test } from 'node:test'
import type { Acquisition, CheckedLockConfiguration, Refusal } from 'shedlock-orm'
import { Lease, LockProvider, tokenOfRetry } from 'shedlock-orm'
import { lockProviderSuite } from 'shedlock-orm/testing'

interface Row {
  until: number
  readonly lockedAt: number
  readonly succeeded?: boolean
}

const MINUTE = 60_000

class MapLockProvider extends LockProvider {
  constructor(private readonly rows: Map<string, Row>) {
    super()
  }

  async acquire({
    name,
    lockAtMostFor,
    lockAtLeastFor,
    slot,
    untilSucceeded,
  }: CheckedLockConfiguration): Promise<Acquisition | Refusal> {
    const lease = new Lease(lockAtMostFor - 1)
    const now = Date.now()
    if (this.isHeld(name)) return { reason: 'held' }
    if (slot !== undefined && slot > now + MINUTE) return { reason: 'slot-too-far-ahead', now }
    const { lockedAt: before = 0, succeeded = false } = this.rows.get(name) ?? {}
    let lockedAt: number | undefined = slot ?? Math.max(now, before + 1)
    if (lockedAt <= before)
      lockedAt = untilSucceeded && !succeeded ? tokenOfRetry(lockedAt, before) : undefined
    if (lockedAt === undefined) return { reason: 'already-run' }
    const row = { until: now + lockAtMostFor, lockedAt }
    this.rows.set(name, row)
    let freeAt = now + lockAtLeastFor
    const isMine = (): boolean => this.rows.get(name) === row && this.isHeld(name)

    return {
      lease,
      extend: async (mostFromNow, atLeast) => {
        const extended = new Lease(mostFromNow - 1)
        if (!isMine()) return undefined
        row.until = Math.max(row.until, Date.now() + mostFromNow)
        if (atLeast !== undefined) freeAt = now + atLeast
        return extended
      },
      fencingToken: async () => (isMine() ? row.lockedAt : undefined),
      unlock: async (outcome) => {
        if (this.rows.get(name) !== row) return
        // A new row object: from now on isMine() is false.
        const ended =
          outcome === 'unused'
            ? { until: 0, lockedAt: row.lockedAt - 1 }
            : { ...row, until: Math.min(freeAt, row.until) }
        this.rows.set(name, {
          ...ended,
          succeeded: outcome === 'succeeded',
        })
      },
    }
  }

  isHeld(name: string): boolean {
    return (this.rows.get(name)?.until ?? 0) > Date.now()
  }
}

const rows = new Map<string, Row>()
const cases = lockProviderSuite({
  createProvider: () => new MapLockProvider(rows),
  isHeld: (name) => new MapLockProvider(rows).isHeld(name),
})
for (const { title, run } of cases) void test(title, { timeout: 60_000 }, run)
