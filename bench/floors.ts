import { byHand, OUR_STATEMENTS, RAW, READ } from './floor'
import type { Measured } from './measure'
import { median } from './quantile'

/** The floor of an operation: the least that the same work could cost. */
const FLOOR: Readonly<Record<string, readonly [scenario: string, who: string]>> = {
  'read one row': ['read one row', RAW],
  'write one row': ['write one row', RAW],
  lose: ['read one row', RAW],
  'win + release': ['win + release', OUR_STATEMENTS],
  'run an empty task': ['win + release', OUR_STATEMENTS],
  extend: ['write one row', RAW],
}

/** Returns how many times its floor an operation takes: the median of the rounds' ratios, because rounds differ in speed. */
export function timesFloor(all: readonly Measured[], one: Measured): number {
  return times(all, one, FLOOR[one.scenario])
}

/**
 * Returns how many times as long as what its own client needs anyway: a refused attempt as a plain read, acquire and release as the
 * same statements sent by hand. Both are prepared if the client's lock prepares its statements.
 */
export function timesOwnClient(all: readonly Measured[], one: Measured): number {
  const client = one.who.replace(/^ours: |, with a slot/g, '')
  if (one.scenario === 'win + release') return times(all, one, ['win + release', byHand(client)])
  if (one.scenario !== 'lose') return NaN
  const isPrepared = all.some(({ scenario, who }) => scenario === READ && who === `${client}, prepared`)
  return times(all, one, [READ, isPrepared ? `${client}, prepared` : client])
}

function times(
  all: readonly Measured[],
  one: Measured,
  floor: readonly [scenario: string, who: string] | undefined,
): number {
  const least = all.find(({ scenario, who }) => scenario === floor?.[0] && who === floor[1])
  return median(one.rounds.map((time, round) => time / (least?.rounds[round] ?? NaN)))
}
