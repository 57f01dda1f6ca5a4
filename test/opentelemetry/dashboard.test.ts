import { DataPointType, type Histogram } from '@opentelemetry/sdk-metrics'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { openTelemetryListener } from '../../src/opentelemetry'
import { exportedMetrics } from './exported-metrics'

const guides = join(__dirname, '../../docs/guides')
const dashboard = readFileSync(join(guides, 'grafana-dashboard.json'), 'utf8')
const alerts = readFileSync(join(guides, 'prometheus-alerts.yaml'), 'utf8')
const page = readFileSync(join(guides, 'operating.md'), 'utf8')

/** The meters' names as OpenTelemetry's own exporter for Prometheus writes them. */
let names: readonly string[]
let bounds: readonly number[]

/** One of every event, so that every meter has a value. */
beforeAll(async () => {
  const { meterProvider, exported } = exportedMetrics()
  const now = new Date()
  const lockProvider = { table: { list: () => Promise.resolve([{ name: 'job', lockedAt: now, now }]) } }
  const listener = openTelemetryListener({ meterProvider, lockNames: ['job'], lockProvider })
  const configuration = { name: 'job', lockAtMostFor: 1, lockAtLeastFor: 0 }
  const failure = { name: 'job', configuration, error: new Error('x') }
  listener.onLockFailed?.(failure)
  listener.onExtendFailed?.(failure)
  listener.onUnlockFailed?.(failure)
  listener.onTaskFinished?.({ ...failure, duration: 1, outcome: 'succeeded' })
  const metrics = await exported()
  names = metrics.flatMap(({ descriptor, dataPointType, ...rest }) => {
    const name = descriptor.name.replaceAll('.', '_')
    if (dataPointType === DataPointType.HISTOGRAM) return [`${name}_bucket`, `${name}_count`, `${name}_sum`]
    return 'isMonotonic' in rest && rest.isMonotonic ? [`${name}_total`] : [name]
  })
  const histogram = metrics.find(({ dataPointType }) => dataPointType === DataPointType.HISTOGRAM)
  bounds = (histogram?.dataPoints[0]?.value as Histogram).buckets.boundaries
  await meterProvider.shutdown()
})

/** A Collector adds the unit to the histogram's name; the queries take both. */
const metricsIn = (text: string): string[] => [
  ...new Set([...text.replaceAll('(_seconds)?', '').matchAll(/\bshedlock_[a-z_]+/g)].map(([name]) => name)),
]

describe('the names of metrics', () => {
  it('in the dashboard are all those that there are, and no others', () => {
    const used = metricsIn(dashboard)
    expect(used.filter((name) => !names.includes(name))).toEqual([])
    const sums = names.filter((name) => name.endsWith('_sum'))
    expect(names.filter((name) => !used.includes(name))).toEqual(sums)
  })

  it('in the alerts are real, and so are the limits of the histogram', () => {
    const used = metricsIn(alerts)
    expect(used.length).toBeGreaterThan(8)
    expect([...used, ...metricsIn(page)].filter((name) => !names.includes(name))).toEqual([])
    const limits = [...alerts.matchAll(/\ble=~"(\d+)/g)].map(([, limit]) => Number(limit))
    expect(limits.length).toBeGreaterThan(0)
    expect(limits.filter((limit) => !bounds.includes(limit))).toEqual([])
  })
})
