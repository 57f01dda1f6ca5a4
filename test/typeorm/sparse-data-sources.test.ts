import { expect, it, jest } from '@jest/globals'
import { serverOf, type DataSourceLike } from '../../src/typeorm/data-source-like'
import { queryRunnerClient } from '../../src/typeorm/query-runner-client'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'

const NEVER = new Promise<never>(() => undefined)

/** A DataSource that shows no more than its type demands, and has no server. */
function sparse(
  type: string,
  ofQueryRunner: Partial<ReturnType<DataSourceLike['createQueryRunner']>>,
  driver: object = {},
) {
  const release = jest.fn(() => Promise.resolve())
  const createQueryRunner = jest.fn<DataSourceLike['createQueryRunner']>(() => ({
    connect: () => Promise.resolve(undefined),
    query: () => NEVER,
    release,
    ...ofQueryRunner,
  }))
  const dataSource = { isInitialized: true, options: { type }, driver, createQueryRunner }
  const lock = () =>
    typeOrmLockProvider(dataSource, { timeLimit: '300ms' }).lock({ name: 'job', lockAtMostFor: '1m' })
  return { dataSource, createQueryRunner, release, lock }
}

it.each([
  ['connects', 'connect'],
  ['waits for an answer', 'query'],
])('A lock whose DataSource is destroyed while it %s says so, and releases its runner', async (_, member) => {
  const { dataSource, release, lock } = sparse('postgres', {
    [member]: () => {
      dataSource.isInitialized = false
      return Promise.reject(new Error('the pool is closed'))
    },
  })
  await expect(lock()).rejects.toEqual(lockError('INVALID_CLIENT', 'was destroyed'))
  expect(release).toHaveBeenCalledTimes(1)
})

const withClient = (client: object) => ({ master: { _clients: [client] } })

it.each([
  ['mariadb', {}],
  ['postgres', {}],
  ['postgres', { master: {} }],
  ['postgres', withClient({})],
  ['postgres', withClient({ connection: {} })],
  ['postgres', withClient({ connection: { stream: { connecting: true } } })],
])('A connection of %s that never comes is given up if the driver shows only %j', async (type, driver) => {
  const { lock } = sparse(type, { connect: () => NEVER }, driver)
  await expect(lock()).rejects.toEqual(lockError('TIMEOUT'))
})

it.each(['postgres', 'cockroachdb', 'oracle'])(
  'A connection of %s that shows no way to close it goes back to its pool after an error',
  async (type) => {
    const { createQueryRunner, release, lock } = sparse(type, {
      query: () => Promise.reject(new Error('the connection is gone')),
    })
    await expect(lock()).rejects.toEqual(lockError('DATABASE_ERROR', 'the connection is gone'))
    expect(release).toHaveBeenCalled()
    // A replica may return a row that is old.
    expect(new Set(createQueryRunner.mock.calls.flat())).toEqual(new Set(['master']))
  },
)

it('A connection of SAP HANA, which cannot be closed, goes back to its pool once it has answered', async () => {
  const answer = promiseWithResolvers<{ records: [] }>()
  const { release, lock } = sparse('sap', { query: () => answer.promise })
  await expect(lock()).rejects.toEqual(lockError('TIMEOUT'))
  expect(release).not.toHaveBeenCalled()
  answer.resolve({ records: [] })
  await eventually(() => expect(release).toHaveBeenCalled())
})

it.each([
  [{}, true],
  [{ poolSize: 3, extra: { max: 2 } }, true],
  ...['max', 'connectionLimit', 'poolMax'].map((name) => [{ extra: { [name]: 2 } }, false] as const),
])('A pool with the options %j has a connection to spare while a lock is held: %s', (options, hasOne) => {
  const { dataSource } = sparse('oracle', {})
  const client = queryRunnerClient(
    { ...dataSource, options: { type: 'oracle', ...options } },
    'oracle',
    false,
  )
  expect(client.keepsOne).toBe(hasOne)
})

it.each([
  [{ schema: '' }, {}, 'shedlock'],
  [{ schema: 'app' }, {}, 'app.shedlock'],
  [{ schema: 'app' }, { schema: 'other' }, 'other.shedlock'],
])('With %j in the DataSource, the options %j mean the table %s', (own, options, table) => {
  const { dataSource } = sparse('postgres', {})
  const provider = typeOrmLockProvider({ ...dataSource, options: { type: 'postgres', ...own } }, options)
  expect(provider.description).toMatch(`the table ${table} (`)
})

it("A client of Aurora's Data API opens no connections", () => {
  const { dataSource } = sparse('aurora-mysql', {})
  expect(queryRunnerClient(dataSource, 'mysql', false).open).toBeUndefined()
})

it.each([
  [{ host: 'db', port: 5432 }, 'db:5432'],
  [{ host: 'db' }, 'db'],
  [{ url: 'postgres://ann:secret@db:5432/app', host: 'other' }, 'db:5432'],
  [{ replication: { master: { host: 'primary', port: 1 }, slaves: [{ host: 'replica' }] } }, 'primary:1'],
  [{ url: '', database: 'app.sqlite' }, undefined],
])('The server of %j is %s: the primary, without a password', (options, server) => {
  expect(serverOf(options)).toBe(server)
})
