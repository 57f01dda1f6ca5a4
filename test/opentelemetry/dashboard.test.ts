import { DataPointType, type Histogram } from '@opentelemetry/sdk-metrics'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { openTelemetryListener } from '../../src/opentelemetry/open-telemetry-listener'
import { exportedMetrics } from './exported-metrics'

const guides = join(__dirname, '../../docs/guides')
const dashboard = readFileSync(join(guides, 'grafana-dashboard.json'), 'utf8')
const alerts = readFileSync(join(guides, 'prometheus-alerts.yaml'), 'utf8')
const page = readFileSync(join(guides, 'operating.md'), 'utf8')

/** The names of the exported metrics in Prometheus. A Collector also adds the unit; OpenTelemetry's own exporter does not. */
let names: Readonly<Record<'without a Collector' | 'through a Collector', readonly string[]>>
let bounds: readonly number[]

/** One of every event, so that every meter has a value. */
beforeAll(async () => {
  const { meterProvider, exported } = exportedMetrics()
  const now = new Date()
  const lock = { name: 'job', held: true, lockedAt: now, lockUntil: now, now }
  const lockProvider = { table: { list: () => Promise.resolve([lock]) } }
  const jobs = { job: { due: () => now } }
  const listener = openTelemetryListener({ meterProvider, lockProvider, jobs })
  const configuration = { name: 'job', lockAtMostFor: 1, lockAtLeastFor: 0 }
  const failure = { name: 'job', configuration, error: new Error('x') }
  listener.onLockFailed?.(failure)
  listener.onExtendFailed?.(failure)
  listener.onUnlockFailed?.(failure)
  listener.onTaskFinished?.({ ...failure, duration: 1, outcome: 'succeeded' })
  const metrics = await exported()
  const namesWith = (units: Readonly<Record<string, string>>): string[] =>
    metrics.flatMap(({ descriptor, dataPointType, ...rest }) => {
      const name = `${descriptor.name.replaceAll('.', '_')}${units[descriptor.unit] ?? ''}`
      if (dataPointType === DataPointType.HISTOGRAM) return [`${name}_bucket`, `${name}_count`, `${name}_sum`]
      return 'isMonotonic' in rest && rest.isMonotonic ? [`${name}_total`] : [name]
    })
  names = { 'without a Collector': namesWith({}), 'through a Collector': namesWith({ s: '_seconds' }) }
  const histogram = metrics.find(({ dataPointType }) => dataPointType === DataPointType.HISTOGRAM)
  const value = histogram?.dataPoints[0]?.value as Histogram | undefined
  bounds = value?.buckets.boundaries ?? []
  await meterProvider.shutdown()
})

/** What the queries of a text select: exact names, and regular expressions. */
const selectorsIn = (text: string): RegExp[] =>
  [...text.matchAll(/__name__=~\\?"([^"\\]+)|\b(shedlock_[a-z_]+)/g)].map(
    ([, pattern, name]) => new RegExp(`^(?:${pattern ?? name ?? ''})$`),
  )

describe.each(['without a Collector', 'through a Collector'] as const)('the names of metrics %s', (way) => {
  const unknown = (text: string): RegExp[] =>
    selectorsIn(text).filter((selector) => !names[way].some((name) => selector.test(name)))

  it('in the dashboard are all those that there are, and no others', () => {
    expect(unknown(dashboard)).toEqual([])
    const selectors = selectorsIn(dashboard)
    const sums = names[way].filter((name) => name.endsWith('_sum'))
    expect(names[way].filter((name) => !selectors.some((selector) => selector.test(name)))).toEqual(sums)
  })

  it('in the alerts are real, and so are the limits of the histogram', () => {
    expect(selectorsIn(alerts).length).toBeGreaterThan(8)
    expect(unknown(alerts + page)).toEqual([])
    const limits = [...alerts.matchAll(/\ble=~"(\d+)/g)].map(([, limit]) => Number(limit))
    expect(limits.length).toBeGreaterThan(0)
    expect(limits.filter((limit) => !bounds.includes(limit))).toEqual([])
  })
})
