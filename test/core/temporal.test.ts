import { describe, expect, it } from '@jest/globals'
import { aDuration, InMemoryLockProvider, slotOf, type Duration } from '../../src/core/internal'
import { itIf } from '../it-if'
import { providerOf } from './provider-of'

const at = Date.UTC(2026, 10, 21, 3)
/** What is seen of `Temporal.Instant` and `Temporal.ZonedDateTime`, whose `valueOf` throws. Node.js has them from version 26 on. */
const instant = {
  epochMilliseconds: at,
  valueOf() {
    throw new TypeError('Cannot convert')
  },
}

/** What is seen of `Temporal.Duration`, whose `valueOf` throws. */
const duration = (text: string) => ({
  sign: text.startsWith('-') ? -1 : 1,
  blank: false,
  toString: () => text,
  valueOf() {
    throw new TypeError('Cannot convert')
  },
})

type TemporalType = 'Duration' | 'Instant' | 'PlainDateTime' | 'ZonedDateTime'

describe('objects of Temporal', () => {
  it('are durations', async () => {
    expect(aDuration(duration('PT1H30M'), 'lockAtMostFor')).toBe(5_400_000)
    const configuration = { name: 'job', lockAtMostFor: duration('PT1M'), lockAtLeastFor: duration('PT1S') }
    const acquired: unknown[] = []
    const provider = providerOf((checked) => {
      acquired.push(checked)
      return new InMemoryLockProvider().acquire(checked)
    })
    await provider.lock({ ...configuration, wait: duration('PT1S'), keepAlive: { atMost: duration('PT1H') } })
    expect(acquired).toEqual([{ name: 'job', lockAtMostFor: 60_000, lockAtLeastFor: 1_000 }])
  })

  it.each([
    [duration('P1M'), /is 'P1M', which is not a duration/],
    [duration('-PT1S'), /is negative \(-PT1S\)/],
    [instant, /is an object, which is not a duration/],
  ])('are refused as a duration if they are none in milliseconds: %#', (wrong, message) => {
    expect(() => aDuration(wrong as Duration, 'wait')).toThrow(message)
  })

  it('are slots', async () => {
    const provider = new InMemoryLockProvider()
    const job = { name: 'job', lockAtMostFor: '1m' }
    const lock = await provider.lock({ ...job, slot: instant })
    expect(await lock?.fencingToken()).toBe(at)
    await lock?.unlock()
    expect(await provider.lock({ ...job, slot: at })).toBeUndefined()
    const cron = { previousRuns: (_: number, reference?: Date) => [reference ?? new Date()] }
    expect(slotOf(cron, instant)).toEqual(new Date(at + 1_000))
  })

  const { Temporal } = globalThis as { Temporal?: Record<TemporalType, { from(text: string): unknown }> }
  itIf(Temporal !== undefined, 'Node.js 26')('are those of Node.js', async () => {
    const of = (type: TemporalType, text: string) => Temporal?.[type].from(text) as never
    const provider = new InMemoryLockProvider()
    const job = { name: 'job', lockAtMostFor: of('Duration', 'PT1M') }
    for (const slot of [
      of('Instant', '2026-11-21T03:00Z'),
      of('ZonedDateTime', '2026-11-21T05:00[Europe/Prague]'),
    ]) {
      const lock = await provider.lock({ ...job, slot })
      expect(await lock?.fencingToken()).toBe((slot as { epochMilliseconds: number }).epochMilliseconds)
      expect(lock?.remaining()).toBeGreaterThan(50_000)
      await lock?.unlock()
    }
    const zoneless = { ...job, slot: of('PlainDateTime', '2026-11-21T06:00') }
    await expect(provider.lock(zoneless)).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
    await expect(provider.lock({ ...job, wait: of('Duration', 'P1M') })).rejects.toMatchObject({
      code: 'INVALID_CONFIGURATION',
    })
  })
})
