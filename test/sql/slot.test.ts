import type { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { acquireLock, LockingTaskExecutor, parseLockConfiguration } from '../../src/core/internal'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterFile } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { createLockTable, type observeLockTable } from '../conformance/lock-table-observer'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { providerOf } from '../core/provider-of'
import { typeOrmClient } from '../conformance/sql-clients'
import { UnreliableClient } from '../unreliable-client'

const time = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().slice(0, 23).replace('T', ' ')

const backends = availableBackends().filter(({ shared }) => shared)

describeBackends(backends)('a slot on $name', (backend) => {
  let dataSource: DataSource
  let table: ReturnType<typeof observeLockTable>

  beforeAll(async () => {
    ;({ dataSource } = await openDatabase(backend, {}, afterFile))
    table = await createLockTable(dataSource, backend.dialect)
  })

  it.each(['before', 'after'])(
    'can be acquired again when its executor was shut down %s the answer, and tokens grow all the same',
    async (when) => {
      const provider = typeOrmLockProvider(dataSource)
      const gate = promiseWithResolvers()
      const answered = promiseWithResolvers()
      const slow = providerOf(
        async (...question) => {
          const answer = await provider.acquire(...question).finally(() => answered.resolve())
          await gate.promise
          return answer
        },
        (timeout) => provider.drain(timeout),
      )
      const job = { name: `stopped ${when}`, lockAtMostFor: '10m', slot: Date.now() }
      await (await provider.lock({ ...job, slot: job.slot - 1 }))?.unlock()
      const executor = new LockingTaskExecutor(slow)
      const skipped = executor.executeWithLock(job, () => 1)
      if (when === 'after') await answered.promise
      const stopped = executor.shutdown()
      gate.resolve()
      expect(await skipped).toEqual({ executed: false, reason: 'shutdown' })
      await stopped
      expect((await table.findRow(job.name))?.lockedAt).toBe(job.slot - 1)
      expect(await (await provider.lock(job))?.fencingToken()).toBe(job.slot)
    },
  )

  it('may lie a minute ahead, and the error beyond that contains the clocks', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const now = await table.clock()
    const ahead = { name: 'ahead', lockAtMostFor: '10m', slot: now + 120_000 }
    const refused = lockError(
      'INVALID_CONFIGURATION',
      new RegExp(
        `'ahead', ${new Date(ahead.slot).toISOString()}, lies more than a minute ahead of the database's clock, which says \\S+Z; the clock of this process says \\S+Z –`,
      ),
    )
    await expect(provider.lock(ahead)).rejects.toEqual(refused)
    expect(await table.findRow('ahead')).toBeUndefined()
    const soon = await provider.lock({ ...ahead, slot: now + 50_000 })
    // Nobody has to know more of a lock that is held.
    expect(await provider.lock(ahead)).toBeUndefined()
    await soon?.unlock()
    await expect(provider.lock(ahead)).rejects.toEqual(refused)
  })

  it('is given once, when another run for it comes and goes between the look and the write', async () => {
    const network = new UnreliableClient(typeOrmClient(dataSource, backend.dialect))
    const provider = new SqlLockProvider(network, dialects[backend.dialect])
    const slot = (await table.clock()) - 60_000
    const job = { name: 'raced', lockAtMostFor: '10m', slot }
    await (await provider.lock({ ...job, slot: slot - 1 }))?.unlock()
    const sent = network.sent.length
    const gate = network.stall('writes')
    const acquiring = provider.acquire(parseLockConfiguration(job).configuration)
    await eventually(() => expect(network.sent).toHaveLength(sent + 1))
    await dataSource.query(`update shedlock set locked_at = '${time(slot)}' where name = 'raced'`)
    gate.resolve()
    expect(await acquiring).toMatchObject({ reason: 'already-run' })
  })

  it.each(['new', 'known'])('can be acquired again when its %s row was acquired too late', async (name) => {
    const provider = typeOrmLockProvider(dataSource)
    const slot = (await table.clock()) - 60_000
    if (name === 'known') await (await provider.lock({ name, lockAtMostFor: '1m', slot: slot - 1 }))?.unlock()
    // A checked configuration never has this duration: the lease is over when the answer arrives.
    const configuration = { name, lockAtMostFor: 1, lockAtLeastFor: 0, slot }
    const message = expect.stringContaining('its lease of 1 ms was over')
    const late = { code: 'TIMEOUT', lockName: name, message }
    await expect(acquireLock(provider, { configuration })).rejects.toMatchObject(late)
    await eventually(async () => expect((await table.findRow(name))?.lockedAt).toBe(slot - 1))
    expect(await provider.lock({ name, lockAtMostFor: '1m', slot })).toBeDefined()
  })
})
