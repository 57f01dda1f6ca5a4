/**
 * OpenTelemetry metrics and traces, as listeners to pass to your executor.
 *
 * @module shedlock-orm/opentelemetry
 */
export { openTelemetryListener } from './open-telemetry-listener'
export { openTelemetryTracingListener } from './open-telemetry-tracing-listener'
