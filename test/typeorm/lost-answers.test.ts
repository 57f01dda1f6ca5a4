import assert from 'node:assert/strict'
import { once, type EventEmitter } from 'node:events'
import { connect, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import type { Lock } from '../../src/core/lock'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { endPgClient } from '../../src/drivers/pg'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterFile, afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { createLockTable, type observeLockTable } from '../conformance/lock-table-observer'
import { freePort } from '../backends/free-port'
import { TcpProxy } from '../backends/tcp-proxy'
import { eventually } from '../eventually'
import { itOn } from '../it-if'
import { lockError } from '../lock-error'
import { blockRow } from '../sql/block-row'

/** Only writes contain the owner. */
const lockedBy = 'the holder of lost answers'
const A_WRITE = new RegExp(lockedBy)

/** MySQL has MariaDB's driver. */
const servers = availableBackends('postgres', 'mariadb')

describeBackends(servers)('TypeORM on $name, when an answer is late or lost', (backend) => {
  let opened: OpenDatabase
  let table: ReturnType<typeof observeLockTable>
  const open = (options: object = {}): Promise<DataSource> => opened.connect(options, afterTest)
  const throughProxy = async (options: object = {}): Promise<{ dataSource: DataSource; proxy: TcpProxy }> => {
    const proxy = await TcpProxy.listen((opened.database.typeOrm as { port: number }).port)
    afterTest(() => proxy.close())
    return { dataSource: await open({ ...options, host: '127.0.0.1', port: proxy.port }), proxy }
  }

  beforeAll(async () => {
    opened = await openDatabase(backend, {}, afterFile)
    table = await createLockTable(opened.dataSource, backend.dialect)
  })

  const lockedAt = async (name: string) => (await table.findRow(name))?.lockedAt
  /** Waits until the lock is acquired after all, and free again. */
  const expectFreed = async (name: string, before: number | undefined): Promise<void> => {
    await eventually(async () => expect((await lockedAt(name)) ?? before).not.toBe(before))
    await eventually(async () => expect(await table.isHeld(name)).toBe(false))
  }
  const lockAtMostFor = '5m'

  it('says that the pool is exhausted, and frees the lock that it gets too late', async () => {
    const dataSource = await open({ poolSize: 1 })
    const provider = typeOrmLockProvider(dataSource, { ownConnections: 0, timeLimit: '2s' })
    await (await provider.lock({ name: 'warm', lockAtMostFor }))?.unlock()
    const queryRunner = dataSource.createQueryRunner()
    await queryRunner.startTransaction()
    await expect(provider.lock({ name: 'late', lockAtMostFor })).rejects.toMatchObject({
      code: 'TIMEOUT',
      lockName: 'late',
      message: expect.stringContaining('connection pool is exhausted'),
      cause: { message: expect.stringMatching(/^no answer within \d+ ms$/) },
    })
    await queryRunner.rollbackTransaction()
    await queryRunner.release()
    // It runs behind what was queued before it.
    await dataSource.query('select 1')
    await eventually(async () => expect(await table.isHeld('late')).toBe(false))
    await (await provider.lock({ name: 'late', lockAtMostFor }))?.unlock()
  })

  /** The socket of the only connection of a pool. */
  const socketOf = async (dataSource: DataSource): Promise<Socket> => {
    const queryRunner = dataSource.createQueryRunner()
    const client = (await queryRunner.connect()) as { stream?: Socket; connection?: { stream: Socket } }
    await queryRunner.release()
    const socket = client.stream ?? client.connection?.stream
    assert(socket)
    return socket
  }

  it.each(backend.dialect === 'postgres' ? [{}, { pipeline: true }] : [{}])(
    'closes the only connection of a pool if its host has fallen silent, so that the next lock has another: %j',
    async (extra) => {
      const { dataSource, proxy } = await throughProxy({ poolSize: 1, extra })
      const provider = typeOrmLockProvider(dataSource, { ownConnections: 0, timeLimit: '1s' })
      const job = { name: 'silent', lockAtMostFor }
      await (await provider.lock(job))?.unlock()
      const socket = await socketOf(dataSource)
      proxy.silence()
      // A statement that only reads is sent again, on another connection.
      if (backend.dialect === 'postgres')
        await expect(provider.lock(job)).rejects.toEqual(lockError('TIMEOUT'))
      else await (await provider.lock(job))?.unlock()
      // Or it would keep the process alive.
      expect(socket.destroyed).toBe(true)
      await eventually(async () => (await provider.lock(job))?.unlock())
    },
  )

  itOn(backend, 'postgres')('closes a connection though the host refuses the one that cancels', async () => {
    const client = (await (await open()).createQueryRunner().connect()) as Pick<Client, 'port' | 'query'>
    const slept = client.query('select pg_sleep(5)').catch(String)
    client.port = await freePort()
    endPgClient(client)
    expect(await slept).toContain('terminated')
    await expect(once(connect(client.port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED')
  })

  it('lets the DataSource end after a drain, though the row of a release is still blocked', async () => {
    const dataSource = await opened.connect({ poolSize: 2 }, () => undefined)
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '2s' })
    const lock = await provider.lock({ name: 'blocked', lockAtMostFor })
    const unblock = await blockRow(opened.dataSource, 'blocked')
    await expect(lock?.unlock()).rejects.toEqual(lockError('TIMEOUT'))
    await provider.drain('1s')
    const limit = new AbortController()
    const tooLate = sleep(20_000, 'still waiting', { signal: limit.signal })
    expect(await Promise.race([dataSource.destroy(), tooLate])).toBeUndefined()
    limit.abort()
    await tooLate.catch(() => undefined)
    await unblock()
  })

  it.each(['new', 'known'])('frees a %s row if the connection broke before the answer came', async (name) => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource, { lockedBy })
    await (await provider.lock({ name: 'known', lockAtMostFor }))?.unlock()
    const before = await lockedAt(name)
    const cut = proxy.cutAfter(A_WRITE, name === 'new' ? 2 : 1)
    await expect(provider.lock({ name, lockAtMostFor })).rejects.toEqual(lockError('DATABASE_ERROR'))
    await cut
    await expectFreed(name, before)
  })

  it.each<[string, RegExp, (lock: Lock, provider: SqlLockProvider) => Promise<unknown>]>([
    ['unlock', A_WRITE, (lock) => lock.unlock()],
    ['extension', A_WRITE, (lock) => lock.extend('1h')],
    ['read', /lost read/, (_, { table }) => table.find('lost read')],
  ])('asks again on another connection when the answer to a %s was lost', async (what, lost, question) => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource, { lockedBy })
    const name = `lost ${what}`
    const lock = await provider.lock({ name, lockAtMostFor })
    assert(lock)
    const cut = proxy.cutAfter(lost)
    const answer = await question(lock, provider)
    await cut
    if (what === 'read') expect(answer).toMatchObject({ name })
    else expect(await table.isHeld(name)).toBe(what === 'extension')
    if (what === 'extension') expect(lock.remaining()).toBeGreaterThan(300_000)
  })

  itOn(backend, 'postgres')("drops its own connection that no host accepts, and uses the app's", async () => {
    const dataSource = await open({ poolSize: 1 })
    const provider = typeOrmLockProvider(dataSource)
    const { options } = (dataSource.driver as unknown as { master: { options: object } }).master
    const unaccepted: Socket[] = []
    const stream = (): Socket => {
      const socket = new Socket()
      unaccepted.push(socket)
      return Object.assign(socket, { connect: () => socket })
    }
    Object.assign(options, { stream })
    const lock = await provider.lock({ name: 'unaccepted', lockAtMostFor })
    expect(unaccepted.map(({ errored }) => errored?.message)).toEqual([
      'timeout: the connection was not opened in time',
    ])
    expect(await lock?.extend('10m')).toBeUndefined()
    await lock?.unlock()
    expect(unaccepted).toHaveLength(1)
  })

  itOn(backend, 'postgres')('leaves a transaction open when closing, so a pooler closes too', async () => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource, { ownConnections: 0 })
    await (await provider.lock({ name: 'closed', lockAtMostFor }))?.unlock()
    await dataSource.query('deallocate all')
    const cut = proxy.cutAfter(/begin/)
    // Its name is refused, so that it is sent again on another connection.
    expect(await provider.lock({ name: 'closed', lockAtMostFor })).toBeDefined()
    await cut
  })

  itOn(backend, 'postgres')('leaves a transaction open on a connection that is not ready yet', async () => {
    const { dataSource, proxy } = await throughProxy()
    const client = (await dataSource.createQueryRunner().connect()) as Client & { connection: EventEmitter }
    // PostgreSQL sends an error apart from the message that it is ready again, which may arrive later.
    client.connection.once('errorMessage', () => endPgClient(client))
    const cut = proxy.cutAfter(/begin/)
    await expect(client.query('nonsense')).rejects.toThrow('syntax error')
    await cut
  })

  itOn(backend, 'postgres')('frees a lock that was not replicated', async () => {
    const dataSource = await open({ poolSize: 1 })
    const provider = typeOrmLockProvider(dataSource, { ownConnections: 0 })
    await (await provider.lock({ name: 'replicated', lockAtMostFor }))?.unlock()
    const queryRunner = dataSource.createQueryRunner()
    const client = (await queryRunner.connect()) as EventEmitter & { query: (...all: unknown[]) => unknown }
    await queryRunner.release()
    const query = client.query.bind(client)
    const warnOnce = (routine: string) => {
      client.query = (...all) => {
        client.query = query
        client.emit('notice', { routine })
        return query(...all)
      }
    }
    warnOnce('another')
    await (await provider.lock({ name: 'replicated', lockAtMostFor }))?.unlock()
    warnOnce('SyncRepWaitForLSN')
    await expect(provider.lock({ name: 'replicated', lockAtMostFor })).rejects.toEqual(
      lockError('DATABASE_ERROR', /wait for the synchronous standby was cancelled/),
    )
    await eventually(async () => expect(await table.isHeld('replicated')).toBe(false))
    expect(await provider.lock({ name: 'replicated', lockAtMostFor })).toBeDefined()
  })
})
