import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { expect, it } from '@jest/globals'
import { of } from 'rxjs'
import { DataSource } from 'typeorm'
import { lockError } from '../lock-error'
import { useFaultyExecutor } from './faulty-executor'

// What has not begun has not succeeded: a task may return its work instead of doing it, and the lock is then released before it.

const world = useFaultyExecutor()
const job = { name: 'job', lockAtMostFor: '10m' }
const IDLE = 'setInterval(() => undefined, 1_000)'
const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })

const UNFINISHED: readonly [what: string, cure: string, make: () => unknown][] = [
  ['an Observable', 'lastValueFrom', () => of(1)],
  ['a generator', 'iterate over it', () => generate()],
  ['a generator', 'iterate over it', () => generateLater()],
  ['a function', 'call it', () => () => undefined],
  ['promises in an array', 'Promise.all', () => [1].map((number) => Promise.resolve(number))],
  ['a query', 'execute()', () => dataSource.createQueryBuilder().delete().from('reports')],
  ['a process', 'its end', () => spawn(process.execPath, ['-e', IDLE])],
  ['a worker', 'its end', () => new Worker(IDLE, { eval: true })],
  ['a timer', 'a promise', () => setTimeout(() => undefined, 1)],
]

function* generate() {
  yield 1
}

async function* generateLater() {
  yield await Promise.resolve(1)
}

async function end(value: unknown): Promise<void> {
  if (value instanceof Worker) await value.terminate()
  if (typeof (value as Partial<ChildProcess>).kill !== 'function') return
  const child = value as ChildProcess
  child.kill()
  await once(child, 'close')
}

it.each(UNFINISHED)('a task that returns %s has failed, and the error says: %s', async (what, cure, make) => {
  for (const isAsync of [false, true]) {
    const value = make()
    const run = world.executor.wrap(job, () => (isAsync ? Promise.resolve(value) : value))()
    await expect(run).rejects.toEqual(
      lockError('INVALID_CONFIGURATION', `The task of lock 'job' returned ${what}`),
    )
    await expect(run).rejects.toThrow(cure)
    expect(world.storage.isLocked('job')).toBe(false)
    await end(value)
  }
})

it.each<[what: string, make: () => unknown]>([
  ['nothing', () => undefined],
  ['null', () => null],
  ['rows', () => [{ id: 1, then: null }]],
  ['an empty array', () => []],
  ['a map and its iterator', () => [new Map([[1, 2]]), new Map([[1, 2]]).values()]],
  ['a stream that another reads', () => Readable.from(['a'])],
  ['a response', () => new Response('ok')],
  ['the result of another task', () => ({ executed: true, value: 1 })],
])('a task may return %s', async (_, make) => {
  const value = make()
  expect(await world.executor.executeWithLock(job, () => value)).toEqual({ executed: true, value })
})
