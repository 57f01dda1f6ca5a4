import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { executeOnce } from '../../src/core/execute-once'
import type { LockConfiguration } from '../../src/core/lock'
import { availableBackends } from '../../test/backends'
import { eventually } from '../../test/eventually'
import { hasMariaDb } from '../servers/mysql-programs'
import { hasPostgres } from '../servers/postgres-server'
import type { Client } from '../workers/client'
import { openClient, ORMS, type ClusterClient } from './client'
import type { Pair } from './cluster'
import { mariaDbPair } from './mariadb-node'
import { postgresPair } from './postgres-node'
import { until } from './until'

const PAIRS = [
  { backend: 'postgres', start: postgresPair, isInstalled: hasPostgres, wait: 'select 1 from pg_sleep(0.3)' },
  { backend: 'mariadb', start: mariaDbPair, isInstalled: hasMariaDb, wait: 'select sleep(0.3)' },
]
/** The time limit of calls that are expected to fail, in milliseconds. */
const SHORT = 3_000
const ignored = (): void => undefined

describe.each(PAIRS)('a pair of $backend', ({ backend, start, isInstalled, wait }) => {
  const isRun = isInstalled && availableBackends().some(({ name }) => name === backend)
  if (!isRun) {
    it.skip('needs the backend and its programs', () => undefined)
    return
  }

  let pair: Pair
  let name: string
  let count = 0
  const opened: Client[] = []
  // Runs also if the pair could not be started, whose error must be the only one.
  let close = (): Promise<void> => Promise.resolve()
  beforeAll(async () => {
    pair = await start()
    close = () => pair.close()
  })
  afterAll(() => close())
  afterEach(async () => {
    if (opened.length === 0) return
    redirect('primary')
    const closed = Promise.all(opened.splice(0).map((client) => client.close()))
    // Silent connections would not end by themselves.
    pair.address.cutAll()
    await closed
    await pair.replicate(true)
  })

  /** Redirects new connections. */
  const redirect = (role: 'primary' | 'standby'): void => pair.address.redirect(pair.ports[role])
  const open = async (orm: ClusterClient['orm'], more: Partial<ClusterClient> = {}): Promise<Client> => {
    const client = await openClient({ orm, dialect: pair.dialect, port: pair.address.port, max: 2, ...more })
    opened.push(client)
    name = `job ${count++}`
    return client
  }
  const configuration = (more: Partial<LockConfiguration> = {}): LockConfiguration => ({
    name,
    lockAtMostFor: '1m',
    ...more,
  })
  /** Opens all connections that the pool may have. */
  const fill = (client: Client): Promise<unknown> => Promise.all([client.query(wait), client.query(wait)])

  describe.each(ORMS)('through %s', (orm) => {
    // When a connection breaks at the wrong moment, mariadb throws an error that cannot be caught, and Jest attributes it to the
    // test. `npm run failover` covers these cases in separate processes, and counts those that the driver ended.
    const whenConnectionsBreak = backend === 'mariadb' && orm === 'prisma' ? it.skip : it
    it.each(['all', 'half'])(
      'a pool with %s of its connections to a standby replaces those as soon as its address leads to the primary',
      async (share) => {
        redirect('standby')
        const client = await open(orm)
        await (share === 'all' ? fill(client) : client.query('select 1'))
        redirect('primary')
        if (share === 'half') await fill(client)
        for (let run = 0; run < 4; run++) {
          const lock = await client.provider.lock(configuration())
          expect(lock).toBeDefined()
          await lock?.unlock()
        }
      },
    )

    whenConnectionsBreak(
      'a missing row on a standby is an error for the holder, for find() and for executeOnce',
      async () => {
        const client = await open(orm, { timeLimit: SHORT })
        const { provider } = client
        await pair.synchronous(false)
        await pair.replicate(false)
        const lock = await provider.lock(configuration())
        const once = { name: `${name}, once`, slot: Date.now(), wait: '1s' }
        let runs = 0
        const migrate = () => executeOnce(provider, once, () => Promise.resolve(runs++))
        await migrate()

        redirect('standby')
        pair.address.cutAll()
        const unanswered = { code: 'DATABASE_ERROR' }
        await expect(lock?.fencingToken()).rejects.toMatchObject(unanswered)
        expect(lock?.signal.aborted).toBe(false)
        await expect(provider.table.find(name)).rejects.toMatchObject(unanswered)
        await expect(migrate()).rejects.toMatchObject(unanswered)

        redirect('primary')
        pair.address.cutAll()
        expect(await lock?.fencingToken()).toBeGreaterThan(0)
        expect(await provider.table.find(name)).toMatchObject({ held: true })
        await migrate()
        expect(runs).toBe(1)
      },
    )

    whenConnectionsBreak(
      'a release reaches the new primary after a planned switch, although its connection leads to the old one',
      async () => {
        const client = await open(orm, { max: 1 })
        const lock = await client.provider.lock(configuration())
        await pair.faults['planned switch']?.(ignored)
        await lock?.unlock()
        const held = name
        const other = await open(orm)
        expect(await other.provider.table.find(held)).toMatchObject({ held: false })
      },
    )

    whenConnectionsBreak('a release that only a standby answered is repeated in the background', async () => {
      const client = await open(orm, { timeLimit: SHORT })
      const lock = await client.provider.lock(configuration())
      redirect('standby')
      pair.address.cutAll()
      await expect(lock?.unlock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      redirect('primary')
      await eventually(async () =>
        expect(await client.provider.table.find(name)).toMatchObject({ held: false }),
      )
    })
  })

  if (backend === 'postgres') {
    it('a lock whose wait for the synchronous standby was cancelled is not given to the caller, but released', async () => {
      const client = await open('typeorm')
      await client.provider.table.find(name)
      await pair.replicate(false)
      const refused = expect(client.provider.lock(configuration())).rejects.toMatchObject({
        code: 'DATABASE_ERROR',
        message: expect.stringContaining('a failover may lose the row'),
      })
      const cancelled = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
      let isRefused = false
      void refused.finally(() => (isRefused = true))
      await until('cancelled', async () => {
        await pair.execute(cancelled)
        return isRefused
      })
      await refused
      await pair.replicate(true)
      await eventually(async () =>
        expect(await client.provider.table.find(name)).toMatchObject({ held: false }),
      )
    })
  }
})
