import { SpanStatusCode, trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { openTelemetryTracingListener } from '../../src/opentelemetry/open-telemetry-tracing-listener'
import { FaultyLockProvider } from '../core/faulty-lock-provider'

const job = { name: 'job', lockAtMostFor: '10m' }
let exporter: InMemorySpanExporter
let tracerProvider: BasicTracerProvider
let provider: FaultyLockProvider
let executor: LockingTaskExecutor

beforeEach(() => {
  exporter = new InMemorySpanExporter()
  tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider = new FaultyLockProvider(new InMemoryLockProvider())
  executor = new LockingTaskExecutor(provider, {
    listeners: [openTelemetryTracingListener({ tracerProvider })],
  })
})

afterEach(async () => {
  trace.disable()
  await tracerProvider.shutdown()
})

it('makes a span for a run, and none for a skip', async () => {
  await executor.executeWithLock(job, () =>
    new LockingTaskExecutor(provider, {
      listeners: [openTelemetryTracingListener({ tracerProvider })],
    }).executeWithLock({ ...job, name: 'other' }, () => undefined),
  )
  const held = await provider.lock(job)
  await executor.executeWithLock(job, () => undefined)
  await held?.unlock()
  const spans = exporter.getFinishedSpans()
  expect(spans.map(({ name, attributes }) => [name, attributes])).toEqual([
    ['shedlock.execution', { 'lock.name': 'other' }],
    ['shedlock.execution', { 'lock.name': 'job' }],
  ])
  expect(spans.every(({ status }) => status.code === SpanStatusCode.UNSET)).toBe(true)
})

it('gives the span of a run that threw its error', async () => {
  await expect(
    executor.executeWithLock(job, () => Promise.reject(new RangeError('my own'))),
  ).rejects.toThrow()
  const [span] = exporter.getFinishedSpans()
  expect(span).toMatchObject({
    name: 'shedlock.execution',
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'RangeError' },
  })
  expect(span?.events[0]?.name).toBe('exception')
})

it('makes a span for a step that failed, below that of its run', () => {
  const error = new LockError('TIMEOUT', 'No answer.')
  const listener = openTelemetryTracingListener({ tracerProvider })
  const configuration = { name: 'job', lockAtMostFor: 1, lockAtLeastFor: 0 }
  const event = { name: 'job', configuration }
  listener.onLockFailed?.({ ...event, error })
  listener.onTaskStarted?.(event)
  listener.onExtendFailed?.({ ...event, error })
  listener.onLockLost?.({ ...event, error })
  listener.onTaskFinished?.({ ...event, duration: 1, outcome: 'succeeded' })
  listener.onUnlockFailed?.({ ...event, error })

  const spans = exporter.getFinishedSpans()
  const run = spans.find(({ name }) => name === 'shedlock.execution')
  expect(spans.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual([
    ['shedlock.lock', undefined],
    ['shedlock.extend', run?.spanContext().spanId],
    ['shedlock.lost', run?.spanContext().spanId],
    ['shedlock.execution', undefined],
    ['shedlock.unlock', run?.spanContext().spanId],
  ])
  const failed = spans.filter((span) => span !== run)
  expect(failed.every(({ attributes }) => attributes['error.type'] === 'TIMEOUT')).toBe(true)
})

it('takes the global provider, also when it is registered later', async () => {
  const early = new LockingTaskExecutor(new InMemoryLockProvider(), {
    listeners: [openTelemetryTracingListener()],
  })
  trace.setGlobalTracerProvider(tracerProvider)
  await early.executeWithLock(job, () => undefined)
  expect(exporter.getFinishedSpans()).toHaveLength(1)
})
