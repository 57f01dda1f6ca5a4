import type { DataSource } from 'typeorm'
import { afterEach, beforeEach, expect, jest } from '@jest/globals'
import { readSockets } from '../../src/drivers/own-connection'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { openMemory } from '../backends/open-database'
import { typeOrmClient } from '../conformance/sql-clients'
import { UnreliableClient } from '../unreliable-client'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
/** Of one call, by default. */
export const LIMIT = 5 * SECOND

/** A lock table in memory, behind an unreliable network, for one test. */
export interface VirtualWorld {
  readonly network: UnreliableClient
  /** Behind the network. */
  readonly provider: SqlLockProvider
  /** Past the network. */
  readonly other: SqlLockProvider
  /** The names of the locks that are held. */
  held(): Promise<string[]>
}

/** In each test of the file or block that calls this, time is virtual, and what it returns is new. */
export function useVirtualTime(): VirtualWorld {
  const world = {} as VirtualWorld

  beforeEach(async () => {
    const dataSource: DataSource = await openMemory()
    const network = new UnreliableClient(typeOrmClient(dataSource, 'sqlite'))
    const provider = new SqlLockProvider(network, dialects.sqlite)
    const other = typeOrmLockProvider(dataSource)
    const held = async (): Promise<string[]> => {
      const locks = await other.table.list()
      return locks
        .filter((lock) => lock.held)
        .map(({ name }) => name)
        .sort()
    }
    Object.assign(world, { network, provider, other, held })
    await other.table.create()
    jest.useFakeTimers()
    // The table is looked at once.
    await (await provider.lock(job('first')))?.unlock()
    network.sent.length = 0
  })

  afterEach(async () => {
    await settle(world.provider.drain(0))
    expect(jest.getTimerCount()).toBe(0)
    jest.useRealTimers()
  })
  return world
}

export function job(name = 'job') {
  return { name, lockAtMostFor: HOUR }
}

/** Lets some time pass, after which the work is done: a table in memory answers within a few turns of the event loop. */
export async function settle<T>(work: Promise<T>, milliseconds = 1): Promise<T> {
  const state = { isDone: false }
  const done = (): void => {
    state.isDone = true
  }
  work.then(done, done)
  await jest.advanceTimersByTimeAsync(milliseconds)
  for (let turns = 0; !state.isDone && turns < 1_000; turns += 2) await readSockets()
  if (!state.isDone) throw new Error(`Not settled after ${milliseconds} ms`)
  return work
}

/** Lets some time pass, and sees that the work has failed within it. */
export async function expectFailure(
  work: Promise<unknown> | undefined,
  error: object,
  milliseconds = LIMIT,
): Promise<void> {
  await settle(expect(work).rejects.toMatchObject(error), milliseconds)
}
