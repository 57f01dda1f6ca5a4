import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Lock } from '../../src/core/lock'
import { LockError } from '../../src/core/errors'
import { dialects } from '../../src/sql/dialects'
import { DriverError, type SqlClient, type SqlSession } from '../../src/sql/session'
import { SqlLockProvider, type SqlLockProviderOptions } from '../../src/sql/sql-lock-provider'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { HOUR, job, LIMIT, MINUTE, SECOND, settle, useVirtualTime } from './on-virtual-time'

const world = useVirtualTime()

/** One connection, to see what becomes of it. */
class Connection implements SqlSession {
  isOpen = true
  isAwake = true
  constructor(
    private readonly driver: FakeDriver,
    private readonly session: SqlSession,
  ) {}

  async execute(...statement: Parameters<SqlSession['execute']>) {
    this.driver.sent++
    await this.driver.answer(this, statement[2])
    return this.session.execute(...statement)
  }

  release = () => this.close()
  end = () => this.close()
  rest = () => (this.isAwake = false)
  wake = () => {
    this.isAwake = true
    return Promise.resolve(this.isOpen)
  }

  private close(): void {
    this.isOpen = false
    this.driver.own.delete(this)
  }
}

/** A driver that opens connections beside a pool. */
class FakeDriver implements SqlClient {
  readonly own = new Set<Connection>()
  opened = 0
  most = 0
  borrowed = 0
  sent = 0
  keepsOne = false
  unusable: SqlClient['unusable']
  opening: () => Promise<unknown> = () => Promise.resolve()
  answer: (connection?: Connection, wants?: string) => Promise<unknown> = () => Promise.resolve()

  open = async (): Promise<SqlSession> => {
    this.opened++
    await this.opening()
    const connection = new Connection(this, await world.network.connect())
    this.own.add(connection)
    this.most = Math.max(this.most, this.own.size)
    return connection
  }

  async connect(): Promise<SqlSession> {
    this.borrowed++
    const session = await world.network.connect()
    return { ...session, release: () => this.borrowed-- }
  }
}

let driver: FakeDriver
let provider: SqlLockProvider
const create = (options: SqlLockProviderOptions = {}) => new SqlLockProvider(driver, dialects.sqlite, options)
const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const lockAndRelease = async (name: string): Promise<void> => {
  const lock = await provider.lock(job(name))
  await lock?.unlock()
}
const release = (lock: Lock | undefined): Promise<void> => settle(Promise.resolve(lock?.unlock()))
const many = (count: number, name = 'many') =>
  Promise.allSettled(Array.from({ length: count }, (_, each) => lockAndRelease(`${name} ${each}`)))

beforeEach(() => {
  driver = new FakeDriver()
  provider = create()
  // Drained after each test, with all that use this driver.
  Object.assign(world, { provider })
})

describe('the connections of the locks', () => {
  it('are one, which stays while a lock is held, and closes a second after that', async () => {
    const lock = await settle(provider.lock(job()))
    await jest.advanceTimersByTimeAsync(10 * MINUTE)
    expect([...driver.own].map(({ isAwake }) => isAwake)).toEqual([false])
    await settle(Promise.resolve(lock?.extend('2h')))
    await release(lock)
    expect(driver).toMatchObject({ opened: 1, borrowed: 0 })
    await jest.advanceTimersByTimeAsync(990)
    expect(driver.own.size).toBe(1)
    await jest.advanceTimersByTimeAsync(10)
    expect(driver.own.size).toBe(0)
  })

  it('are closed by a drain, also a silent one, when the lease of a lock is over that nobody releases, and during a pause', async () => {
    await settle(lockAndRelease('job'))
    await settle(provider.drain())
    expect(driver.own.size).toBe(0)
    const unlocked = (await settle(provider.lock(job())))?.unlock()
    driver.answer = () => new Promise(() => undefined)
    await settle(expect(unlocked).rejects.toMatchObject({ code: 'TIMEOUT' }), LIMIT)
    const left = provider.drain(SECOND).then(() => driver.own.size)
    expect(await settle(left, SECOND)).toBe(0)
    driver.answer = () => Promise.resolve()
    await settle(provider.lock({ name: 'forgotten', lockAtMostFor: MINUTE }))
    await jest.advanceTimersByTimeAsync(MINUTE)
    expect(driver.own.size).toBe(0)
    await settle(provider.table.pause('paused', { duration: '8h', reason: 'a look' }))
    await jest.advanceTimersByTimeAsync(SECOND)
    expect(driver.own.size).toBe(0)
  })

  it('are five at most for five hundred locks on a database that is near, and ten on a distant one', async () => {
    driver.answer = () => later(5)
    // For longer than a quarter of the time limit.
    const near = await settle(many(500), LIMIT)
    expect(near.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(driver.most).toBe(5)
    // One after another, they use the same one.
    await settle(many(60), 500)
    for (let time = 0; time < 5; time++) await settle(lockAndRelease('job'), 300)
    expect(driver.own.size).toBe(1)
    await settle(provider.drain(), SECOND)
    driver.answer = () => later(50)
    driver.opening = () => later(200)
    const distant = await settle(many(200), 3 * LIMIT)
    expect(distant.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(driver.most).toBe(10)
    expect(driver.borrowed).toBe(0)
  })

  it('are as many as the option says', async () => {
    provider = create({ ownConnections: 2 })
    driver.answer = () => later(1)
    await settle(many(50), LIMIT)
    expect(driver.most).toBe(2)
    provider = create({ ownConnections: 1 })
    await settle(lockAndRelease('known'), SECOND)
    const connect = jest.spyOn(driver, 'connect')
    driver.answer = () => new Promise(() => undefined)
    const silent = many(5, 'silent')
    await jest.advanceTimersByTimeAsync(LIMIT / 2 - 1)
    expect(connect).not.toHaveBeenCalled()
    await settle(silent, LIMIT)
    await settle(provider.drain(0), SECOND)
    driver.answer = () => Promise.resolve()
    driver.opened = 0
    provider = create({ ownConnections: 0 })
    await settle(lockAndRelease('other'))
    expect(driver).toMatchObject({ opened: 0, borrowed: 0 })
    expect(provider.description).toBe("the table shedlock (sqlite, by the app's pool)")
    expect(() => create({ ownConnections: -1 })).toThrow('ownConnections must be a whole number, 0 or more')
  })

  it('serve a lock that is held first, beside one acquisition and five hundred', async () => {
    const lock = await settle(provider.lock(job()))
    driver.answer = () => later(100)
    const extending = async (): Promise<number> => {
      const asked = Date.now()
      await lock?.extend('2h')
      return Date.now() - asked
    }
    void lockAndRelease('one')
    expect(await settle(extending(), SECOND)).toBe(100)
    const others = many(500)
    await jest.advanceTimersByTimeAsync(SECOND)
    expect(await settle(extending(), 4 * LIMIT)).toBeLessThanOrEqual(300)
    const failures = (await others).map((result) =>
      result.status === 'rejected' ? (result.reason as Error) : undefined,
    )
    expect(failures).toContainEqual(
      lockError(
        'TIMEOUT',
        /was not sent within 5000 ms: all connections were in use, and \d+ other calls waited/,
      ),
    )
    await settle(Promise.resolve(lock?.unlock()), SECOND)
    await settle(provider.drain(), SECOND)
    expect(await world.held()).toEqual([])
  })

  it('serve a release before the acquisitions of the last second, but not before an earlier one', async () => {
    provider = create({ ownConnections: 1 })
    const lock = await settle(provider.lock(job()))
    driver.answer = () => later(600)
    const served: string[] = []
    const serve = (what: string, call: Promise<unknown> | undefined) => call?.then(() => served.push(what))
    const early = [serve('first', provider.lock(job('first'))), serve('early', provider.lock(job('early')))]
    await jest.advanceTimersByTimeAsync(1_100)
    const late = [serve('late', provider.lock(job('late'))), serve('release', lock?.unlock())]
    await settle(Promise.all([...early, ...late]), 2 * LIMIT)
    expect(served).toEqual(['first', 'early', 'release', 'late'])
    await settle(world.provider.drain(0), HOUR)
  })

  it.each([
    ['the server has no room', new DriverError('SQLITE_BUSY', 'too many connections', false), 1],
    ['the password is refused', new DriverError(undefined, 'no password', false, true), 1],
    ['the host does not answer', new DriverError(undefined, 'timeout: not opened in time', false), 1],
    ['the host refuses them', new DriverError(undefined, 'ECONNREFUSED', false), 11],
  ])('are those of the pool if %s, and for some minutes after a refusal', async (_, error, tries) => {
    driver.opening = () => Promise.reject(error)
    for (let time = 0; time < 5; time++) await settle(lockAndRelease(`job ${time}`), MINUTE / 2)
    expect(driver).toMatchObject({ opened: tries, borrowed: 0 })
    expect(driver.own.size).toBe(0)
    driver.opening = () => Promise.resolve()
    await jest.advanceTimersByTimeAsync(5 * MINUTE)
    await settle(lockAndRelease('later'))
    expect(driver.own.size).toBe(1)
  })

  it('are opened again after a refusal, and once fewer are busy, if the pool is unfit for locks', async () => {
    driver.connect = () => Promise.reject(new LockError('INVALID_CLIENT', 'unfit'))
    driver.opening = () => Promise.reject(new DriverError(undefined, 'timeout: not opened in time', false))
    const refused = expect(provider.lock(job())).rejects.toEqual(lockError('TIMEOUT', /did not answer/))
    await settle(refused, LIMIT)
    driver.opening = () => Promise.resolve()
    await settle(lockAndRelease('job'))
    await settle(provider.drain())
    const opened = promiseWithResolvers()
    driver.opening = () => opened.promise
    provider = create({ ownConnections: 1, timeLimit: SECOND })
    await settle(expect(provider.lock(job())).rejects.toEqual(lockError('TIMEOUT')), SECOND)
    const waiting = lockAndRelease('waiting')
    opened.resolve()
    await settle(waiting)
    await settle(provider.drain())
    provider = create({ ownConnections: 0 })
    await settle(expect(provider.lock(job())).rejects.toEqual(lockError('INVALID_CLIENT', 'unfit')))
  })

  it('are opened again after a refusal, if the pool gives none either', async () => {
    const connect = driver.connect.bind(driver)
    driver.connect = () => new Promise(() => undefined)
    driver.opening = () => Promise.reject(new DriverError(undefined, 'timeout: not opened in time', false))
    await settle(expect(provider.lock(job())).rejects.toEqual(lockError('TIMEOUT')), LIMIT)
    driver.opening = () => Promise.resolve()
    await settle(lockAndRelease('job'), LIMIT)
    driver.connect = connect
  })

  it('that ended while they were idle are replaced', async () => {
    await settle(lockAndRelease('job'))
    for (const connection of driver.own) connection.isOpen = false
    const lock = await settle(provider.lock(job()))
    expect(driver.opened).toBe(2)
    for (const connection of driver.own) connection.isOpen = false
    await settle(Promise.resolve(lock?.extend('2h')))
    expect(driver.opened).toBe(3)
    await release(lock)
  })

  it('that fell silent are ended, and a call that only repeats has another', async () => {
    provider = create({ ownConnections: 1 })
    const lock = await settle(provider.lock(job()))
    const [silent = new Connection(driver, {} as SqlSession)] = driver.own
    driver.answer = (connection) => (connection === silent ? new Promise(() => undefined) : Promise.resolve())
    await settle(Promise.resolve(lock?.extend('2h')), LIMIT)
    expect(driver.own.has(silent)).toBe(false)
    expect(driver.opened).toBe(2)
    await release(lock)
  })

  it('that answer no write, all at once, leave the calls that wait to others', async () => {
    driver.answer = () => later(1)
    await settle(many(60), 500)
    const silent = new Set(driver.own)
    expect(silent.size).toBe(5)
    driver.answer = (connection, wants) =>
      connection && silent.has(connection) && wants === 'changed'
        ? new Promise(() => undefined)
        : Promise.resolve()
    const locks = await settle(many(20, 'later'), LIMIT)
    expect(locks.filter(({ status }) => status === 'fulfilled')).toHaveLength(15)
    expect(driver.most).toBeLessThanOrEqual(10)
  })

  it('that were idle while the process stood still are not used for an acquisition', async () => {
    await settle(lockAndRelease('job'))
    // Timers fire late, as after a freeze.
    jest.setSystemTime(Date.now())
    const now = performance.now.bind(performance)
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 2 * SECOND)
    const wall = Date.now.bind(Date)
    const walls = jest.spyOn(Date, 'now').mockImplementation(() => wall() + 2 * SECOND)
    const lock = await settle(provider.lock(job()))
    clock.mockRestore()
    walls.mockRestore()
    expect(driver.opened).toBe(2)
    expect(driver.own.size).toBe(1)
    await release(lock)
  })

  it('keep the one of a held lock beside other locks, also when the server is full and the pool is silent', async () => {
    const held = await settle(provider.lock(job()))
    await jest.advanceTimersByTimeAsync(10 * SECOND)
    await settle(lockAndRelease('other'))
    await jest.advanceTimersByTimeAsync(10 * SECOND)
    const connect = driver.connect.bind(driver)
    driver.connect = () => new Promise(() => undefined)
    driver.opening = () => Promise.reject(new DriverError('53300', 'no room', false))
    await settle(expect(provider.lock(job('third'))).rejects.toEqual(lockError('TIMEOUT')), LIMIT)
    const { opened } = driver
    await settle(Promise.resolve(held?.extend('2h')))
    expect(driver.opened).toBe(opened)
    await release(held)
    driver.connect = connect
  })

  it('are hardly more beside the one that stays with a held lock', async () => {
    const held = await settle(provider.lock(job()))
    driver.answer = () => later(1)
    for (const [locks, most] of [
      [8, 4],
      [500, 7],
    ] as const) {
      await jest.advanceTimersByTimeAsync(10 * SECOND)
      driver.most = 0
      await settle(many(locks), LIMIT)
      expect(driver.most).toBeLessThanOrEqual(most)
    }
    driver.answer = () => Promise.resolve()
    await release(held)
  })

  it('open a new one beside a held lock, if one is all that they may have', async () => {
    provider = create({ ownConnections: 1 })
    const held = await settle(provider.lock(job()))
    await jest.advanceTimersByTimeAsync(10 * SECOND)
    await settle(lockAndRelease('other'))
    expect(driver).toMatchObject({ opened: 2, borrowed: 0, most: 1 })
    await release(held)
  })

  it('release a lock after the client was ended, which acquires none any more', async () => {
    Object.assign(driver, { source: () => driver.unusable })
    const lock = await settle(provider.lock(job()))
    driver.unusable = () => new LockError('INVALID_CLIENT', 'destroyed')
    driver.opening = () => Promise.reject(new LockError('INVALID_CLIENT', 'destroyed'))
    await release(lock)
    await expect(settle(provider.lock(job()))).rejects.toEqual(lockError('INVALID_CLIENT', 'destroyed'))
    expect(await world.held()).toEqual([])
    await settle(provider.drain())
    driver.unusable = undefined
    await expect(settle(provider.lock(job()))).rejects.toEqual(lockError('INVALID_CLIENT', 'destroyed'))
  })

  it('that lead elsewhere than the client does now acquire no lock, and none is used by a provider that may open none', async () => {
    let source = {}
    Object.assign(driver, { source: () => source })
    const lock = await settle(provider.lock(job()))
    source = {}
    const other = await settle(provider.lock(job('other')))
    expect(driver.opened).toBe(2)
    await release(other)
    const inThePool = create({ ownConnections: 0 })
    const sent = driver.sent
    await settle(Promise.resolve((await settle(inThePool.lock(job('in the pool'))))?.unlock()))
    expect(driver.sent).toBe(sent)
    await release(lock)
  })
})

describe.each([
  ['cannot', { open: undefined }, 10],
  ['may not', {}, 0],
])('a client that %s open connections', (_, how, ownConnections) => {
  it('lends ten, and five while they wait on the server for what another session has locked', async () => {
    let underWay = 0
    let most = 0
    let waits = 10
    driver.answer = async () => {
      most = Math.max(most, ++underWay)
      await later(waits)
      underWay--
      if (waits > 500) throw new DriverError('SQLITE_BUSY', 'locked')
    }
    const connect = driver.connect.bind(driver)
    driver.connect = async () => {
      const session = await connect()
      const execute: SqlSession['execute'] = async (...statement) => (
        await driver.answer(),
        session.execute(...statement)
      )
      return { ...session, execute }
    }
    const mostOf = async (wait: number): Promise<number> => {
      waits = wait
      most = 0
      await settle(many(30, `wait ${wait}`), 3 * LIMIT)
      return most
    }
    await settle(lockAndRelease('first'), SECOND)
    expect(await mostOf(10)).toBe(10)
    await mostOf(600)
    expect(await mostOf(600)).toBe(5)
    await settle(provider.drain(), 10 * LIMIT)
  })

  beforeEach(() => {
    driver = Object.assign(new FakeDriver(), how)
    provider = create({ ownConnections })
  })

  it('keeps one of its pool while a lock is held, if there are enough', async () => {
    for (const keepsOne of [false, true]) {
      driver.keepsOne = keepsOne
      const lock = await settle(provider.lock(job()))
      expect(driver.borrowed).toBe(keepsOne ? 1 : 0)
      await settle(Promise.resolve(lock?.extend('2h')))
      expect(driver.borrowed).toBe(keepsOne ? 1 : 0)
      await settle(Promise.all([provider.table.list(), provider.table.list()]))
      expect(driver.borrowed).toBe(keepsOne ? 1 : 0)
      await release(lock)
      expect(driver.borrowed).toBe(0)
    }
  })
})
