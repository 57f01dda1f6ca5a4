import { subscribe } from 'node:diagnostics_channel'
import type { LockEvent } from 'shedlock-orm'
import { DataSource } from 'typeorm'

export const dataSource = new DataSource({ type: 'postgres', url: process.env['DATABASE_URL'] ?? '' })

/** What becomes of each fire, as a line: `ran cron 2026-11-22T20:44:53.000Z`. Also in a worker thread. */
for (const [event, said] of [
  ['task-started', 'ran'],
  ['lock-not-acquired', 'skipped'],
  ['lock-failed', 'failed'],
] as const)
  subscribe(`shedlock-orm:${event}`, (message) => {
    const { name, configuration } = message as LockEvent
    const { slot } = configuration
    console.log(said, name, slot === undefined ? 'without a slot' : new Date(slot).toISOString())
  })
