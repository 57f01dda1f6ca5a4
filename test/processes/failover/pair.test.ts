import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { executeOnce, type LockConfiguration } from '../../../src/core/internal'
import { availableBackends } from '../../backends'
import { eventually } from '../../eventually'
import { hasMariaDb } from '../servers/mysql-programs'
import { hasPostgres } from '../servers/postgres-programs'
import { openClient, ORMS, type Client, type ClientOptions } from './client'
import type { Pair } from './cluster'
import { mariaDbPair } from './mariadb-pair'
import { postgresPair } from './postgres-pair'
import { until } from './until'

const PAIRS = [
  { backend: 'postgres', start: postgresPair, isInstalled: hasPostgres, wait: 'select 1 from pg_sleep(0.3)' },
  { backend: 'mariadb', start: mariaDbPair, isInstalled: hasMariaDb, wait: 'select sleep(0.3)' },
]
/** Milliseconds; where a call is to fail. */
const SHORT = 1_500

describe.each(PAIRS)('a pair of $backend', ({ backend, start, isInstalled, wait }) => {
  const isWanted = isInstalled && availableBackends().some(({ name }) => name === backend)
  if (!isWanted) {
    it.skip('needs the backend, and its programs', () => undefined)
    return
  }

  let pair: Pair
  let name: string
  let count = 0
  const opened: Client[] = []
  beforeAll(async () => {
    pair = await start()
  })
  afterAll(() => pair.close())
  afterEach(async () => {
    redirect('primary')
    const closed = Promise.all(opened.splice(0).map((client) => client.close()))
    // What is silent would not end by itself.
    pair.address.cutAll()
    await closed
    await pair.replicate(true)
  })

  /** For those who connect anew. */
  const redirect = (role: 'primary' | 'standby'): void => pair.address.redirect(pair.ports[role])
  const open = async (orm: ClientOptions['orm'], more: Partial<ClientOptions> = {}): Promise<Client> => {
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
  /** Connects all that the pool may have. */
  const fill = (client: Client): Promise<unknown> => Promise.all([client.query(wait), client.query(wait)])

  describe.each(ORMS)('through %s', (orm) => {
    // When a connection breaks at the wrong moment, mariadb throws where nobody can catch it, and Jest takes that for the test's
    // error. `npm run failover` has these cases in processes of their own, and counts those that the driver ended.
    const whenConnectionsBreak = backend === 'mariadb' && orm === 'prisma' ? it.skip : it
    it('a pool whose connections lead to a standby leaves it as soon as its address leads to the primary', async () => {
      redirect('standby')
      const client = await open(orm)
      await fill(client)
      redirect('primary')
      for (let run = 0; run < 3; run++) {
        const lock = await client.provider.lock(configuration())
        expect(lock).toBeDefined()
        await lock?.unlock()
      }
    })

    it('a pool half of whose connections lead to a standby leaves those', async () => {
      redirect('standby')
      const client = await open(orm)
      await client.query('select 1')
      redirect('primary')
      await fill(client)
      for (let run = 0; run < 4; run++) {
        const lock = await client.provider.lock(configuration())
        expect(lock).toBeDefined()
        await lock?.unlock()
      }
    })

    it('where nobody but a standby answers, the error says what it is', async () => {
      redirect('standby')
      const client = await open(orm, { timeLimit: SHORT })
      await expect(client.provider.lock(configuration())).rejects.toMatchObject({
        code: 'DATABASE_ERROR',
        message: expect.stringContaining('does not accept writes') as unknown,
      })
    })

    whenConnectionsBreak(
      'a row that a standby has not is no answer: to the holder, to a reader, to executeOnce',
      async () => {
        const client = await open(orm, { timeLimit: SHORT })
        const { provider } = client
        await pair.synchronous(false)
        await pair.replicate(false)
        const lock = await provider.lock(configuration())
        const once = { name: `${name}, once`, slot: Date.now() }
        let runs = 0
        const migrate = () => executeOnce(provider, once, () => Promise.resolve(runs++))
        await migrate()

        redirect('standby')
        pair.address.cutAll()
        const unanswered = { code: 'DATABASE_ERROR' }
        await expect(lock?.fencingToken()).rejects.toMatchObject(unanswered)
        expect(lock?.signal.aborted).toBe(false)
        await expect(provider.findLock(name)).rejects.toMatchObject(unanswered)
        await expect(migrate()).rejects.toMatchObject(unanswered)

        redirect('primary')
        pair.address.cutAll()
        expect(await lock?.fencingToken()).toBeGreaterThan(0)
        expect(await provider.findLock(name)).toMatchObject({ held: true })
        await migrate()
        expect(runs).toBe(1)
      },
    )

    whenConnectionsBreak(
      'a release finds the new primary after a planned switch, though its connection leads to the old one',
      async () => {
        const client = await open(orm, { max: 1 })
        const lock = await client.provider.lock(configuration())
        await pair.faults['planned switch']?.(() => undefined)
        await lock?.unlock()
        const held = name
        const other = await open(orm)
        expect(await other.provider.findLock(held)).toMatchObject({ held: false })
      },
    )

    whenConnectionsBreak(
      'a release that only a standby answered is made up for in the background',
      async () => {
        const client = await open(orm, { timeLimit: SHORT })
        const lock = await client.provider.lock(configuration())
        redirect('standby')
        pair.address.cutAll()
        await expect(lock?.unlock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
        redirect('primary')
        await eventually(async () =>
          expect(await client.provider.findLock(name)).toMatchObject({ held: false }),
        )
      },
    )

    whenConnectionsBreak(
      'an end that was recorded is on the new primary when the old one is killed at once',
      async () => {
        const client = await open(orm)
        // Whatever is left to the writer in the background gets lost.
        if (pair.dialect === 'postgres')
          await pair.execute("alter system set wal_writer_delay = '10s'", 'select pg_reload_conf()')
        const slot = Math.floor(Date.now() / 1_000) * 1_000
        const lock = await client.provider.lock(configuration({ slot, untilSucceeded: true }))
        await lock?.unlock({ outcome: 'succeeded' })
        await pair.failOver()
        await pair.rejoin()
        expect(await client.provider.findLock(name)).toMatchObject({
          held: false,
          lastRun: { outcome: 'succeeded' },
        })
        expect(await client.provider.lock(configuration({ slot, untilSucceeded: true }))).toBeUndefined()
      },
    )
  })

  it.each(['its first lock', 'a later lock'])(
    'a pool of two whose connections fall silent has new ones when two calls have waited in vain: at %s',
    async (which) => {
      const client = await open('typeorm', { timeLimit: SHORT })
      const lock = (): Promise<unknown> => client.provider.lock(configuration())
      if (which !== 'its first lock') await (await client.provider.lock(configuration()))?.unlock()
      await fill(client)
      pair.address.silence()
      const timeout = { status: 'rejected', reason: { code: 'TIMEOUT' } }
      expect(await Promise.allSettled([lock(), lock()])).toMatchObject([timeout, timeout])
      expect(await lock()).toBeDefined()
    },
  )

  if (backend === 'postgres') {
    it('a synchronous standby that is away is named as a cause where the database gives no answer', async () => {
      const client = await open('typeorm', { timeLimit: SHORT })
      await client.provider.findLock(name)
      await pair.replicate(false)
      await expect(client.provider.lock(configuration())).rejects.toMatchObject({
        code: 'TIMEOUT',
        message: expect.stringContaining('a synchronous standby that is away'),
      })
      await pair.replicate(true)
    })

    it('a lock is not handed out when the wait for the synchronous standby was cancelled, and its row is released', async () => {
      const client = await open('typeorm')
      await client.provider.findLock(name)
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
        expect(await client.provider.findLock(name)).toMatchObject({ held: false }),
      )
    })
  }
})
