import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import { eventually } from '../../eventually'
import { root } from '../../project'
import { Instance } from './instance'
import { migratedDatabase } from './migrated-database'
import { own } from './programs'

const compiled = join(root, 'examples/dist')
const TICK = 2_000
const TICKS = Number(process.env['TICKS'] ?? 30)
/** A timer may be early by some milliseconds; on a busy machine it is late. */
const EARLY = 100
const LONG = { timeout: TICKS * TICK + 120_000, interval: 50 }

/** Runs an example twice on a database of its own. There are no hooks after concurrent tests. */
async function startedTwice(
  name: string,
  work: number,
  test: (one: Instance, two: Instance) => Promise<void>,
): Promise<void> {
  const closers: (() => unknown)[] = []
  const { environment: database } = await migratedDatabase((close) => closers.unshift(close))
  const environment = { ...database, WORK: String(work), PORT: '0', NODE_PATH: own }
  const start = (): Instance => new Instance(compiled, [`${name}/main.js`], environment)
  const [one, two] = [start(), start()]
  try {
    await eventually(() => {
      for (const instance of [one, two]) expect(instance.said('ready')).toHaveLength(1)
    }, LONG)
    await test(one, two)
  } finally {
    await Promise.all([one.stop(), two.stop()])
    for (const close of closers) await close()
  }
}

function ticks(...instances: readonly Instance[]): number[] {
  const times = instances.flatMap((each) => each.said('begin'))
  return times.map((time) => Math.floor((Date.parse(time) + EARLY) / TICK)).sort((a, b) => a - b)
}

const scheduled = [
  { name: 'nestjs-typeorm', long: 600_000 },
  { name: 'nestjs-prisma', long: 600_000 },
  { name: 'node-cron', long: 3_000 },
  { name: 'croner', long: 600_000 },
  { name: 'fastify', long: 600_000 },
]

const untilTicks = (...instances: readonly Instance[]): Promise<void> =>
  eventually(() => expect(ticks(...instances)).not.toEqual([]), LONG)

async function call(instance: Instance): Promise<{ status: number; executed?: boolean }> {
  const [port] = instance.said('ready')
  const response = await fetch(`http://127.0.0.1:${port}/jobs/report`, { method: 'POST' })
  return { status: response.status, ...(response.ok ? ((await response.json()) as object) : {}) }
}

// All in one block: Jest runs those of one block beside each other.
describe('started twice', () => {
  test.concurrent.each(scheduled)(`$name runs each of ${TICKS} ticks once`, ({ name }) =>
    startedTwice(name, 50, async (...instances) => {
      // The first ones may have come while only one instance was up, or while those of the other tests were starting.
      const from = Math.ceil(Date.now() / TICK) + 5
      const ran = (): number[] => ticks(...instances).filter((tick) => tick >= from)
      await eventually(() => expect(ran().length).toBeGreaterThanOrEqual(TICKS), LONG)
      expect(ran().slice(0, TICKS)).toEqual(Array.from({ length: TICKS }, (_, index) => from + index))
    }),
  )

  test.concurrent.each(scheduled)(
    '$name frees the lock when it is told to stop, and the other takes the next tick',
    ({ name, long }) =>
      startedTwice(name, long, async (one, two) => {
        await untilTicks(one, two)
        const [busy, idle] = ticks(one).length > 0 ? [one, two] : [two, one]
        await busy.stop('SIGTERM')
        const stopped = Date.now()
        await untilTicks(idle)
        expect(ticks(busy)).toHaveLength(1)
        // Its own lock lasts for ten minutes.
        expect(ticks(idle)[0]).toBeLessThanOrEqual(Math.ceil(stopped / TICK) + 1)
      }),
  )

  test.concurrent('express runs what both are called for once', () =>
    startedTwice('express', 50, async (...instances) => {
      for (let tick = 0; tick < TICKS; tick++) {
        const answers = await Promise.all(instances.map(call))
        expect(answers.filter(({ executed }) => executed)).toHaveLength(1)
        // The answer may be here before what the process has printed.
        await eventually(() => expect(ticks(...instances)).toHaveLength(tick + 1))
        // Its lockAtLeastFor is over then.
        await sleep(3_100)
      }
    }),
  )

  test.concurrent('express frees the lock when it is told to stop, and the other can take it', () =>
    startedTwice('express', 600_000, async (one, two) => {
      const answer = call(one)
      await untilTicks(one)
      expect(await call(two)).toEqual({ status: 200, executed: false })
      await one.stop('SIGTERM')
      expect(await answer).toEqual({ status: 500 })
      void call(two).catch(() => undefined)
      await untilTicks(two)
    }),
  )
})
