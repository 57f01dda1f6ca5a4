/**
 * OpenTelemetry metrics, as a listener to pass to your executor.
 *
 * @module shedlock-orm/opentelemetry
 */
export { openTelemetryListener } from './open-telemetry-listener'
