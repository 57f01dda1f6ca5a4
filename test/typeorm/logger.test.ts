import type { Logger } from 'typeorm'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterFile, afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { renameTable } from '../backends/rename-table'

const job = { name: 'job', lockAtMostFor: '1h' }
const thrown = (message: string): never => {
  throw new Error(message)
}
/** Of each driver whose statements are sent past TypeORM. */
const backends = availableBackends('postgres', 'mariadb')

describeBackends(backends)("TypeORM's logger on $name", (backend) => {
  let opened: OpenDatabase

  beforeAll(async () => {
    opened = await openDatabase(backend, {}, afterFile)
    await typeOrmLockProvider(opened.dataSource).table.create()
  })

  const connect = (options: object = {}) => opened.connect(options, afterTest)
  const ways = [{}, { ownConnections: 0 }]

  /** @returns the methods of the DataSource's logger that are called */
  async function logged() {
    const calls: string[] = []
    const note = (method: string) => (): void => {
      calls.push(method)
    }
    const logger: Logger = {
      logQuery: note('logQuery'),
      logQueryError: note('logQueryError'),
      logQuerySlow: note('logQuerySlow'),
      logSchemaBuild: () => undefined,
      logMigration: () => undefined,
      log: () => undefined,
    }
    return { dataSource: await connect({ logger, logging: true }), calls }
  }

  describe.each(ways)('with %j', (way) => {
    it('gets each statement, and no error of one that failed, as subscribers hear nothing', async () => {
      const { dataSource, calls } = await logged()
      const provider = typeOrmLockProvider(dataSource, way)
      const subscriber = { beforeQuery: jest.fn<() => void>(), afterQuery: jest.fn<() => void>() }
      dataSource.subscribers.push(subscriber)
      await (await provider.lock(job))?.unlock()
      await opened.dataSource.query(renameTable(backend.dialect, 'shedlock', 'moved'))
      await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISSING' })
      await opened.dataSource.query(renameTable(backend.dialect, 'moved', 'shedlock'))
      expect(calls.length).toBeGreaterThan(3)
      expect(calls.filter((method) => method !== 'logQuery')).toEqual([])
      expect(subscriber.beforeQuery).not.toHaveBeenCalled()
      expect(subscriber.afterQuery).not.toHaveBeenCalled()
    })

    it('loses no lock if it throws', async () => {
      const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
      const dataSource = await connect()
      Object.assign(dataSource, { logger: { logQuery: () => thrown('of a query') } })
      await (await typeOrmLockProvider(dataSource, way).lock(job))?.unlock()
      expect(warning).toHaveBeenCalledWith(new Error('of a query'))
    })
  })
})
