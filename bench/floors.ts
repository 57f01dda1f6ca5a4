import { OUR_STATEMENTS, RAW } from './floor'
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
 * Returns how many times as long as a plain read through the same client a refused attempt takes. The read has a name if the client's
 * statements have names.
 */
export function timesOwnRead(all: readonly Measured[], one: Measured): number {
  const client =
    one.scenario === 'lose'
      ? one.who.replace(/^(ours|Java ShedLock): |, (with a slot|without names)/g, '')
      : ''
  const named = `${client}, named`
  const isNamed =
    !one.who.includes('without names') &&
    all.some(({ scenario, who }) => scenario === 'read one row' && who === named)
  return times(all, one, ['read one row', client.startsWith(RAW) ? RAW : isNamed ? named : client])
}

function times(
  all: readonly Measured[],
  one: Measured,
  floor: readonly [scenario: string, who: string] | undefined,
): number {
  const least = all.find(({ scenario, who }) => scenario === floor?.[0] && who === floor[1])
  return median(one.rounds.map((time, round) => time / (least?.rounds[round] ?? NaN)))
}
