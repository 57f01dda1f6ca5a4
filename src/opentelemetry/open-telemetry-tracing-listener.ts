import { context, SpanStatusCode, trace, type Span, type TracerProvider } from '@opentelemetry/api'
import {
  parseOptions,
  errorName,
  type LockEvent,
  type LockFailureEvent,
  type LockingTaskExecutorListener,
  optionError,
} from '../core/internal'

function checkTracerProvider(value: Partial<TracerProvider> | null, option: string): void {
  if (typeof value?.getTracer !== 'function') throw optionError(option, 'a tracer provider of OpenTelemetry')
}

/**
 * Creates a listener that traces an executor: a span `shedlock.execution` for each run, and as its children a span for each step that
 * failed. All spans have the attribute `lock.name`; those of failures have the status ERROR, the exception and `error.type`. A skip
 * has no span. A listener cannot activate its span, so spans created by the task itself are siblings of `shedlock.execution`.
 *
 * | span | |
 * | --- | --- |
 * | `shedlock.execution` | a task, from its start to its end |
 * | `shedlock.lock` | an attempt to acquire the lock failed with an error |
 * | `shedlock.extend` | an extension failed with an error |
 * | `shedlock.lost` | the lock was lost while its task ran |
 * | `shedlock.unlock` | the lock could not be released |
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function openTelemetryTracingListener(
  options: {
    /** The tracer provider. Default: the global one, even if it is registered later. */
    readonly tracerProvider?: TracerProvider | undefined
  } = {},
): LockingTaskExecutorListener {
  parseOptions(options, { tracerProvider: checkTracerProvider }, 'OpenTelemetry tracing options')
  const { tracerProvider = trace } = options
  const tracer = tracerProvider.getTracer('shedlock-orm')
  /** The span of each run, by the configuration object that all events of a run share. */
  const runs = new WeakMap<LockEvent['configuration'], Span>()

  const start = (name: string, event: LockEvent): Span => {
    const run = runs.get(event.configuration)
    const parent = run ? trace.setSpan(context.active(), run) : context.active()
    return tracer.startSpan(name, { attributes: { 'lock.name': event.name } }, parent)
  }
  const fail = (span: Span, error: unknown): void => {
    span.setAttribute('error.type', errorName(error))
    span.recordException(error instanceof Error ? error : String(error))
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  const failedStep =
    (name: string) =>
    (event: LockFailureEvent): void => {
      const span = start(name, event)
      fail(span, event.error)
      span.end()
    }

  return {
    onTaskStarted(event) {
      runs.set(event.configuration, start('shedlock.execution', event))
    },
    onTaskFinished(event) {
      const run = runs.get(event.configuration)
      if (run && event.outcome === 'failed') fail(run, event.error)
      run?.end()
    },
    onLockFailed: failedStep('shedlock.lock'),
    onExtendFailed: failedStep('shedlock.extend'),
    onLockLost: failedStep('shedlock.lost'),
    onUnlockFailed: failedStep('shedlock.unlock'),
  }
}
