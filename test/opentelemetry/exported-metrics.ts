import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics'

/** A meter provider, and what it has exported up to now. */
export function exportedMetrics() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const exported = async (): Promise<MetricData[]> => {
    exporter.reset()
    await meterProvider.forceFlush()
    return exporter.getMetrics().flatMap((each) => each.scopeMetrics.flatMap(({ metrics }) => metrics))
  }
  return { meterProvider, exported }
}

export type Exported = ReturnType<typeof exportedMetrics>
