/**
 * OpenTelemetry metrics: give the listener to your executor.
 *
 * @module shedlock-orm/opentelemetry
 */
export { openTelemetryListener } from './open-telemetry-listener'
export type { OpenTelemetryListenerOptions } from './open-telemetry-listener'
