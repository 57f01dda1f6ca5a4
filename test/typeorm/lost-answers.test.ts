import type { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import type { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterFile, afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { observeLockTable } from '../conformance/lock-table-observer'
import { TcpProxy } from '../processes/servers/tcp-proxy'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'

/** Only writes contain the owner. */
const lockedBy = 'the holder of lost answers'
const A_WRITE = new RegExp(lockedBy)

const servers = availableBackends().filter(({ name }) => ['postgres', 'mariadb', 'mysql'].includes(name))

describeBackends(servers)('TypeORM on $name, when an answer is late or lost', (backend) => {
  let opened: OpenDatabase
  let observer: DataSource
  let table: ReturnType<typeof observeLockTable>
  const open = (options: object = {}): Promise<DataSource> => opened.connect(options, afterTest)
  const throughProxy = async (): Promise<{ dataSource: DataSource; proxy: TcpProxy }> => {
    const proxy = await TcpProxy.listen((opened.database.typeOrm as { port: number }).port)
    afterTest(() => proxy.close())
    return { dataSource: await open({ host: '127.0.0.1', port: proxy.port }), proxy }
  }

  beforeAll(async () => {
    opened = await openDatabase(backend, {}, afterFile)
    observer = opened.dataSource
    table = observeLockTable(observer, backend.dialect)
    await table.createTable()
  })

  /** Keeps the row in another transaction until it is called. */
  const blockRow = async (name: string): Promise<() => Promise<void>> => {
    const blocker = observer.createQueryRunner()
    await blocker.startTransaction()
    await blocker.query(`select * from shedlock where name = '${name}' for update`)
    return async () => {
      await blocker.commitTransaction()
      await blocker.release()
    }
  }

  it('says that the pool is exhausted, and frees the lock that it gets too late', async () => {
    const dataSource = await open({ poolSize: 1 })
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '2s' })
    await (await provider.lock({ name: 'warm', lockAtMostFor: '5m' }))?.unlock()
    const queryRunner = dataSource.createQueryRunner()
    await queryRunner.startTransaction()
    await expect(provider.lock({ name: 'late', lockAtMostFor: '5m' })).rejects.toMatchObject({
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
    await (await provider.lock({ name: 'late', lockAtMostFor: '5m' }))?.unlock()
  })

  it('frees the lock whose statement waited for the row longer than the time limit', async () => {
    const provider = typeOrmLockProvider(await open(), { timeLimit: '2s' })
    await (await provider.lock({ name: 'slow', lockAtMostFor: '5m' }))?.unlock()
    const unblock = await blockRow('slow')
    await expect(provider.lock({ name: 'slow', lockAtMostFor: '5m' })).rejects.toEqual(lockError('TIMEOUT'))
    const before = await table.findRow('slow')
    await unblock()
    await eventually(async () => expect((await table.findRow('slow'))?.lockedAt).not.toBe(before?.lockedAt))
    await eventually(async () => expect(await table.isHeld('slow')).toBe(false))
  })

  it.each(['new', 'known'])(
    'frees a %s lock when the connection broke before the answer came',
    async (name) => {
      const { dataSource, proxy } = await throughProxy()
      const provider = typeOrmLockProvider(dataSource, { lockedBy })
      await (await provider.lock({ name: 'known', lockAtMostFor: '5m' }))?.unlock()
      const before = await table.findRow(name)
      const cut = proxy.cutAfter(A_WRITE, name === 'new' && backend.dialect !== 'postgres' ? 2 : 1)
      await expect(provider.lock({ name, lockAtMostFor: '5m' })).rejects.toEqual(lockError('DATABASE_ERROR'))
      await cut
      await eventually(async () =>
        expect((await table.findRow(name))?.lockedAt ?? before?.lockedAt).not.toBe(before?.lockedAt),
      )
      await eventually(async () => expect(await table.isHeld(name)).toBe(false))
    },
  )

  it('frees a lock whose connection broke while the server still waited for the row', async () => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource, { lockedBy })
    await (await provider.lock({ name: 'waits', lockAtMostFor: '5m' }))?.unlock()
    const before = await table.findRow('waits')
    const unblock = await blockRow('waits')
    const cut = proxy.cutAfter(A_WRITE)
    await expect(provider.lock({ name: 'waits', lockAtMostFor: '5m' })).rejects.toEqual(
      lockError('DATABASE_ERROR'),
    )
    await cut
    // Time for a release that comes too early.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await unblock()
    await eventually(async () => expect((await table.findRow('waits'))?.lockedAt).not.toBe(before?.lockedAt))
    await eventually(async () => expect(await table.isHeld('waits')).toBe(false))
  })

  it('reads a lock again when the connection broke before the answer came', async () => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource)
    await (await provider.lock({ name: 'lost read', lockAtMostFor: '5m' }))?.unlock()
    const cut = proxy.cutAfter(/lost read/)
    expect(await provider.table.find('lost read')).toMatchObject({ name: 'lost read' })
    await cut
  })

  it('frees the lock after all when the answer to its unlock was lost', async () => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource, { lockedBy })
    const lock = await provider.lock({ name: 'unlock', lockAtMostFor: '5m' })
    const cut = proxy.cutAfter(A_WRITE)
    await lock?.unlock()
    await cut
    expect(await table.isHeld('unlock')).toBe(false)
  })

  it('asks again on another connection when the answer to an extension was lost', async () => {
    const { dataSource, proxy } = await throughProxy()
    const provider = typeOrmLockProvider(dataSource, { lockedBy })
    const lock = await provider.lock({ name: 'extend', lockAtMostFor: '5m' })
    const cut = proxy.cutAfter(A_WRITE)
    await lock?.extend('1h')
    await cut
    expect(lock?.remaining()).toBeGreaterThan(300_000)
    await lock?.unlock()
  })

  itIf(backend.dialect === 'postgres', 'pg')('drops a connection that no host has accepted', async () => {
    const dataSource = await open({ poolSize: 2 })
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '1s' })
    await (await provider.lock({ name: 'unaccepted', lockAtMostFor: '5m' }))?.unlock()
    const queryRunner = dataSource.createQueryRunner()
    await queryRunner.connect()
    const { options } = (dataSource.driver as unknown as { master: { options: object } }).master
    const unaccepted = new Socket()
    const connect = () => Object.assign(unaccepted, { connecting: true })
    Object.assign(options, { stream: () => Object.assign(unaccepted, { connect }) })
    await expect(provider.lock({ name: 'unaccepted', lockAtMostFor: '5m' })).rejects.toEqual(
      lockError('TIMEOUT'),
    )
    expect(unaccepted.errored).toMatchObject({ message: 'the host did not accept the connection in time' })
    Object.assign(options, { stream: undefined })
    expect(await provider.lock({ name: 'unaccepted', lockAtMostFor: '5m' })).toBeDefined()
    // The one that is in use stays.
    expect(await queryRunner.query('select 1 as one')).toEqual([{ one: 1 }])
    await queryRunner.release()
  })

  itIf(backend.dialect === 'postgres', 'pg')(
    'leaves a transaction open on a connection that it closes, so that a pooler closes its own too',
    async () => {
      const { dataSource, proxy } = await throughProxy()
      const provider = typeOrmLockProvider(dataSource)
      await (await provider.lock({ name: 'closed', lockAtMostFor: '5m' }))?.unlock()
      await dataSource.query('deallocate all')
      const cut = proxy.cutAfter(/begin/)
      // Its name is refused, so that it is sent again on another connection.
      expect(await provider.lock({ name: 'closed', lockAtMostFor: '5m' })).toBeDefined()
      await cut
    },
  )

  itIf(backend.dialect === 'postgres', 'pg')('frees a lock that was not replicated', async () => {
    const dataSource = await open({ poolSize: 1 })
    const provider = typeOrmLockProvider(dataSource)
    await (await provider.lock({ name: 'replicated', lockAtMostFor: '5m' }))?.unlock()
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
    await (await provider.lock({ name: 'replicated', lockAtMostFor: '5m' }))?.unlock()
    warnOnce('SyncRepWaitForLSN')
    await expect(provider.lock({ name: 'replicated', lockAtMostFor: '5m' })).rejects.toEqual(
      lockError('DATABASE_ERROR', /wait for the synchronous standby was cancelled/),
    )
    await eventually(async () => expect(await table.isHeld('replicated')).toBe(false))
  })
})
