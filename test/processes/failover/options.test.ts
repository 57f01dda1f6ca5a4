import { describe, expect, it } from '@jest/globals'
import { parseOptions, WrongUsage } from './options'

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
