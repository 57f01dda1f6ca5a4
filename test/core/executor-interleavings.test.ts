import fc from 'fast-check'
import { expect, it } from '@jest/globals'
import {
  LockError,
  LockingTaskExecutor,
  LockProvider,
  type Acquisition,
  type Refusal,
} from '../../src/core/internal'

/** What becomes of one step: it works, it fails and did nothing, it fails but was done all the same, or it is refused. */
type Fate = 'works' | 'fails' | 'fails but is done' | 'refused'

/** A lock table of one row, whose answers come in the order that the scheduler wants. */
class SimulatedProvider extends LockProvider {
  holder: number | undefined
  readonly asked: string[] = []
  #acquisitions = 0

  constructor(
    private readonly scheduler: fc.Scheduler,
    private readonly fates: fc.Stream<Fate>,
  ) {
    super()
  }

  async acquire(): Promise<Acquisition | Refusal> {
    const me = ++this.#acquisitions
    const taken = await this.#step('lock', () => {
      if (this.holder !== undefined) return false
      this.holder = me
      return true
    }).catch((error: unknown) => {
      // As a storage must: what nobody knows of is given back.
      this.#free(me)
      throw error
    })
    return taken ? this.#acquisition(me) : { reason: 'held' }
  }

  #acquisition(me: number): Acquisition {
    const lease = { remaining: () => 60_000 }
    return {
      lease,
      unlock: async () => {
        await this.#step('unlock', () => {
          this.#free(me)
          return true
        }).catch((error: unknown) => {
          // As a lease does, some time later.
          this.#free(me)
          throw error
        })
      },
      extend: async () => {
        const extended = await this.#step('extend', () => this.holder === me)
        return extended ? lease : undefined
      },
    }
  }

  #free(me: number): void {
    if (this.holder === me) this.holder = undefined
  }

  async #step(what: string, act: () => boolean): Promise<boolean> {
    const fate = this.fates.next().value as Fate
    this.asked.push(`${what}: ${fate}`)
    await this.scheduler.schedule(Promise.resolve(), `${what} arrives`)
    const done = fate === 'works' || fate === 'fails but is done' ? act() : false
    await this.scheduler.schedule(Promise.resolve(), `${what} is answered`)
    if (fate === 'fails' || fate === 'fails but is done') throw new LockError('DATABASE_ERROR', what)
    return done
  }
}

const fate = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fate>('works') },
  { weight: 3, arbitrary: fc.constantFrom<Fate>('fails', 'fails but is done', 'refused') },
)
const task = fc.record({ extensions: fc.nat(2), throws: fc.boolean(), caught: fc.boolean() })

it('keeps its promises in every order of answers and failures', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  let ran = 0
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.infiniteStream(fate),
      fc.array(task, { minLength: 1, maxLength: 5 }),
      async (scheduler, fates, tasks) => {
        const provider = new SimulatedProvider(scheduler, fates)
        const unlockFailures: unknown[] = []
        const newExecutor = (): LockingTaskExecutor =>
          new LockingTaskExecutor(provider, {
            listeners: [
              { onUnlockFailed: ({ error }) => unlockFailures.push(error), onLockLost: () => undefined },
            ],
          })
        const [first, second] = [newExecutor(), newExecutor()]
        let running = 0
        const calls = tasks.map(async ({ extensions, throws, caught }, index) => {
          const ownError = new Error(`task ${index}`)
          let outcome: unknown
          const own = { value: index, started: false }
          try {
            const result = await (index % 2 === 0 ? first : second).executeWithLock(
              { name: 'job', lockAtMostFor: '1m' },
              async ({ lock, signal }) => {
                own.started = true
                ran++
                // The lock is exclusive as long as the task was not told to stop.
                expect(++running).toBe(1)
                try {
                  for (let extension = 0; extension < extensions; extension++) {
                    const extending = lock.extend('1m')
                    if (caught) await extending.catch(() => undefined)
                    else await extending
                  }
                  await scheduler.schedule(Promise.resolve(), 'the task works')
                  if (throws) throw ownError
                  outcome = own
                  return own
                } catch (error) {
                  outcome = error
                  throw error
                } finally {
                  expect(signal.aborted || provider.holder !== undefined).toBe(true)
                  running--
                }
              },
            )
            if (own.started) expect(result).toEqual({ executed: true, value: outcome })
            else expect(result).toMatchObject({ executed: false })
          } catch (error) {
            if (own.started) expect(error).toBe(outcome)
            else expect(error).toMatchObject({ code: 'DATABASE_ERROR' })
          }
        })
        await scheduler.waitFor(Promise.all(calls))
        expect(running).toBe(0)
        expect(unlockFailures.every((error) => error instanceof LockError)).toBe(true)
        const refused = provider.asked.some(
          (step) => step === 'unlock: refused' || step === 'extend: refused',
        )
        if (!refused) expect(provider.holder).toBeUndefined()
      },
    ),
    { numRuns: 1_000 },
  )
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
  expect(ran).toBeGreaterThan(500)
})
