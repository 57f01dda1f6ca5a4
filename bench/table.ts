import type { Measured } from './measure'

/** The floor of each scenario: what the same work costs at least. */
const FLOOR: Readonly<Record<string, { scenario: string; who: string }>> = {
  'win + release': { scenario: 'win + release', who: 'raw driver, the same two statements' },
  'run an empty task': { scenario: 'win + release', who: 'raw driver, the same two statements' },
  extend: { scenario: 'write one row', who: 'raw driver' },
  'write one row': { scenario: 'write one row', who: 'raw driver' },
  'read one row': { scenario: 'read one row', who: 'raw driver' },
  lose: { scenario: 'read one row', who: 'raw driver' },
}

/** How many times its floor an operation takes. */
export function ratio(all: readonly Measured[], one: Measured): number {
  const floor = all.find(
    ({ scenario, who }) => scenario === FLOOR[one.scenario]?.scenario && who === FLOOR[one.scenario]?.who,
  )
  return floor ? one.median / floor.median : NaN
}

export function table(database: string, all: readonly Measured[]): string {
  const rows = all
    .toSorted((a, b) => a.scenario.localeCompare(b.scenario) || a.median - b.median)
    .map((one) => [
      one.scenario,
      one.who,
      one.median.toFixed(0),
      `${one.low.toFixed(0)} – ${one.high.toFixed(0)}`,
      one.p99.toFixed(0),
      ratio(all, one).toFixed(2),
    ])
  const head = ['operation', 'who', 'median µs', 'rounds µs', 'p99 µs', '× floor']
  return [
    `\n### ${database}\n`,
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ].join('\n')
}
