import { DataSource } from 'typeorm'
import { describe, expect, test, vi, type TestContext } from 'vitest'
import { createShedLockMigration } from '../../src/typeorm'
import { availableBackends } from '../backends'
import { ExampleProcess } from './example-process'

const TICK = 2_000
const TICKS = Number(process.env['TICKS'] ?? 30)
/** A timer may be early by some milliseconds; on a busy machine it is late. */
const EARLY = 100
const LONG = { timeout: TICKS * TICK + 120_000, interval: 50 }

type OnTestFinished = TestContext['onTestFinished']

/** Starts an example twice on a database of its own. */
async function start(
  name: string,
  onTestFinished: OnTestFinished,
  work: number,
): Promise<readonly [ExampleProcess, ExampleProcess]> {
  const postgres = availableBackends().find((backend) => backend.name === 'postgres')
  if (!postgres) throw new Error('The examples run on PostgreSQL, which was not found')
  const database = await postgres.create()
  onTestFinished(() => database.drop())
  const migrations = [createShedLockMigration()]
  const dataSource = await new DataSource({ ...database.typeOrm, migrations }).initialize()
  await dataSource.runMigrations()
  await dataSource.destroy()

  const environment = { DATABASE_URL: database.url, WORK: String(work) }
  const one = new ExampleProcess(`${name}/main.js`, environment)
  const two = new ExampleProcess(`${name}/main.js`, environment)
  onTestFinished(async () => {
    await Promise.all([one.stop('SIGKILL'), two.stop('SIGKILL')])
  })
  await vi.waitUntil(() => one.isReady() && two.isReady(), LONG)
  return [one, two]
}

function ticks(processes: readonly ExampleProcess[]): number[] {
  const times = processes.flatMap((each) => each.said('begin'))
  return times.map((time) => Math.floor((Date.parse(time) + EARLY) / TICK)).sort((a, b) => a - b)
}

const scheduled = [
  { name: 'nestjs-typeorm', long: 600_000 },
  { name: 'nestjs-prisma', long: 600_000 },
  { name: 'node-cron', long: 3_000 },
  { name: 'croner', long: 600_000 },
  { name: 'fastify', long: 600_000 },
]

describe.concurrent.each(scheduled)('$name, started twice', ({ name, long }) => {
  test(`runs each of ${TICKS} ticks once`, async ({ onTestFinished }) => {
    const processes = await start(name, onTestFinished, 50)
    // The first ones may have come while only one instance was up, or while those of the other tests were starting.
    const from = Math.ceil(Date.now() / TICK) + 5
    const ran = (): number[] => ticks(processes).filter((tick) => tick >= from)
    await vi.waitUntil(() => ran().length >= TICKS, LONG)
    expect(ran().slice(0, TICKS)).toEqual(Array.from({ length: TICKS }, (_, index) => from + index))
  })

  test('frees the lock when it is told to stop, and the other takes the next tick', async ({
    onTestFinished,
  }) => {
    const [one, two] = await start(name, onTestFinished, long)
    await vi.waitUntil(() => ticks([one, two]).length > 0, LONG)
    const [busy, idle] = ticks([one]).length > 0 ? [one, two] : [two, one]
    await busy.stop('SIGTERM')
    const stopped = Date.now()
    await vi.waitUntil(() => ticks([idle]).length > 0, LONG)
    expect(ticks([busy])).toHaveLength(1)
    // Its own lock lasts for ten minutes.
    expect(ticks([idle])[0]).toBeLessThanOrEqual(Math.ceil(stopped / TICK) + 1)
  })
})

describe.concurrent('express, started twice', () => {
  const call = async (instance: ExampleProcess): Promise<{ status: number; executed?: boolean }> => {
    const [port] = instance.said('ready')
    const response = await fetch(`http://127.0.0.1:${port}/jobs/report`, { method: 'POST' })
    return { status: response.status, ...(response.ok ? ((await response.json()) as object) : {}) }
  }

  test('runs what both are called for once', async ({ onTestFinished }) => {
    const instances = await start('express', onTestFinished, 50)
    for (let tick = 0; tick < TICKS; tick++) {
      const answers = await Promise.all(instances.map(call))
      expect(answers.filter(({ executed }) => executed)).toHaveLength(1)
      expect(ticks(instances)).toHaveLength(tick + 1)
      await new Promise((resolve) => setTimeout(resolve, 3_100))
    }
  })

  test('frees the lock when it is told to stop, and the other can take it', async ({ onTestFinished }) => {
    const [one, two] = await start('express', onTestFinished, 600_000)
    const answer = call(one)
    await vi.waitUntil(() => ticks([one]).length > 0, LONG)
    expect(await call(two)).toEqual({ status: 200, executed: false })
    await one.stop('SIGTERM')
    expect(await answer).toEqual({ status: 500 })
    void call(two).catch(() => undefined)
    await vi.waitUntil(() => ticks([two]).length > 0, LONG)
  })
})
