import { describe, expect, it } from '@jest/globals'
import { parseWait } from '../../src/core/configuration'
import { aDuration, formatDuration } from '../../src/core/duration'
import { parseExpected } from '../../src/sql/table/job-state'
import { lockError } from '../lock-error'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** What is seen of `Temporal.Duration`, whose `valueOf` throws. Node.js has it from version 26 on. */
const temporal = (text: string) => ({
  sign: text.startsWith('-') ? -1 : 1,
  blank: false,
  toString: () => text,
  valueOf() {
    throw new TypeError('Cannot convert')
  },
})

describe('aDuration', () => {
  it.each<[string | number, number]>([
    [0, 0],
    [1.9, 1],
    ['1000000ns', 1],
    ['1500us', 1],
    ['10ms', 10],
    ['10S', 10_000],
    ['10M', 600_000],
    ['10H', 10 * HOUR],
    ['10D', 10 * DAY],
    ['36500d', 36_500 * DAY],
    ['+10s', 10_000],
    ['PT1.001S', 1_001],
    ['PT0,5S', 500],
    ['PT0.0009S', 0],
    ['+PT15M', 900_000],
    ['pt15m', 900_000],
    ['P20D', 20 * DAY],
    ['P-1DT48H', DAY],
    ['P2DT3H4M', 2 * DAY + 3 * HOUR + 240_000],
    ['PT6H-3M', 6 * HOUR - 180_000],
    ['-PT-6H+3M', 6 * HOUR - 180_000],
    ['PT1M-30S', 30_000],
  ])('reads %j as %d', (duration, expected) => {
    expect(aDuration(duration, 'lockAtMostFor')).toBe(expected)
  })

  it('reads and refuses what Temporal.Duration says', () => {
    expect(aDuration(temporal('PT1H30M'), 'wait')).toBe(5_400_000)
    expect(parseWait(temporal('PT1S'), 'wait')).toMatchObject({ atMost: 1_000 })
    expect(parseExpected({ job: temporal('PT1H') }).get('job')).toEqual({ overdueAfter: 3_600_000 })
    expect(() => aDuration(temporal('P1M'), 'wait')).toThrow("is 'P1M', which is not a duration")
    expect(() => aDuration(temporal('-PT1S'), 'wait')).toThrow('is negative (-PT1S)')
  })

  it.each<unknown>([
    ...['', ' 10s', '10s\n', '1.5s', 's', '10w', 'P', 'PT', 'P1', 'xPT1M', 'P1W', 'P1DT', 'PT1D', 'PT1S1M'],
    ...['--10s', '0x10', '9'.repeat(400) + 's', NaN, -Infinity, undefined, null, true, ['10s'], 10n],
  ])('refuses %o', (duration) => {
    expect(() => aDuration(duration as string, 'lockAtMostFor')).toThrow(
      lockError('INVALID_CONFIGURATION', /^lockAtMostFor is [^]*not a duration – pass/),
    )
  })

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['ten', "'ten'"],
    // `String()` throws for the first.
    [Object.create(null), 'an object'],
    [['10s'], 'an object'],
  ])('names %o in its refusal', (duration, named) => {
    expect(() => aDuration(duration as string, 'lockAtMostFor')).toThrow(`lockAtMostFor is ${named}, which`)
  })

  it.each([
    ...[-1, '-10d', 'PT-6H3M', '-PT6H3M'].map((duration) => [duration, 'negative'] as const),
    ['36501d', 'longer than a hundred years'],
  ])('refuses %j, which is %s', (duration, why) => {
    expect(() => aDuration(duration, 'lockAtMostFor')).toThrow(`lockAtMostFor is ${why} (${duration}) – `)
  })

  it.each([
    ['10', '10s or 10m'],
    ['+90', '+90s or +90m'],
    ['-10', '-10s or -10m'],
    [' 10\n', '10s or 10m'],
    ['9'.repeat(400), `${'9'.repeat(400)}s or ${'9'.repeat(400)}m`],
  ])('refuses %j, which has no unit', (duration, advice) => {
    const words = `lockAtMostFor has no unit – write ${advice}.`
    expect(() => aDuration(duration, 'lockAtMostFor')).toThrow(lockError('INVALID_CONFIGURATION', words))
  })
})

it.each([
  [0, '0ms'],
  [999.4, '999ms'],
  [1_000, '1s'],
  [9_500, '10s'],
  [60_000, '1m'],
  [9 * 60_000 + 5_000, '9m 5s'],
  [10 * 60_000 + 5_000, '10m'],
  [9 * HOUR + 59 * 60_000, '9h 59m'],
  // The next smaller unit is minutes.
  [HOUR + 5_000, '1h'],
  [DAY + 5 * HOUR, '1d 5h'],
  [40 * DAY, '40d'],
  [400 * DAY, '1y 35d'],
  [99_998 * DAY, '273y'],
])('formatDuration writes %d as %s', (duration, expected) => {
  expect(formatDuration(duration)).toBe(expected)
})
