import { describe, expect, it } from '@jest/globals'
import { fallingTokensIn, overlapsIn, slotsTwiceIn } from './count'
import type { Section, Segment } from './history'
import { parseOptions, WrongUsage } from './options'

const section = (from: number, to: number, more: Partial<Section> = {}): Section => ({
  type: 'section',
  job: 'job',
  owner: `owner ${from}`,
  from,
  to,
  recorded: true,
  lost: false,
  ...more,
})
const kill: Segment = {
  fault: 'kill -9',
  from: 0,
  to: 100,
  reachable: [10],
  connections: { opened: 0, left: 0 },
}

describe('The harness counts', () => {
  it('overlaps, including those with a run that began long ago, and attributes them to the preceding fault', () => {
    const sections = [section(5, 90), section(10, 20), section(80, 95), section(95, 99)]
    expect(overlapsIn(sections, [kill])).toEqual([
      { job: 'job', fault: 'kill -9', milliseconds: 10 },
      { job: 'job', fault: 'kill -9', milliseconds: 10 },
    ])
    expect(overlapsIn([section(0, 1), section(1, 2)], [kill])).toEqual([])
  })

  it('slots that run twice, but with untilSucceeded only if they run again after a recorded success', () => {
    expect(slotsTwiceIn([section(0, 1, { slot: 7 }), section(2, 3, { slot: 7 })])).toBe(1)
    const job = 'five seconds, until succeeded'
    const run = (recorded: boolean) => section(0, 1, { job, slot: 7, recorded })
    expect(slotsTwiceIn([run(false), run(true)])).toBe(0)
    expect(slotsTwiceIn([run(true), run(true)])).toBe(1)
  })

  it('tokens that do not rise', () => {
    const tokens = [3, undefined, 3, 2, 4].map((token, at) => section(at, at, { token }))
    expect(fallingTokensIn(tokens)).toBe(2)
  })
})

describe('The command line', () => {
  it('harms the connections of one pool in one way', () => {
    expect(parseOptions(['--fault', 'swallow', '--db', 'postgres', '--orm', 'typeorm'])).toMatchObject({
      clusters: [],
      databases: ['postgres'],
      faults: ['swallow'],
      orms: ['typeorm'],
      settings: ['default', 'documented'],
      outage: 2_000,
    })
  })

  it('without arguments switches the roles of both pairs', () => {
    expect(parseOptions([])).toMatchObject({ clusters: ['pair', 'mariadb-pair'], databases: [], minutes: 0 })
  })

  it.each([
    [['--help'], ''],
    [['--unknown'], "Unknown option '--unknown'"],
    [['--db', 'dbase'], "'dbase' is not one of postgres, mariadb, mysql, pgbouncer."],
    [['--outage', 'long'], "'long' is not a number."],
  ])('prints the usage for %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(WrongUsage)
    expect(() => parseOptions(args)).toThrow(message)
  })
})
