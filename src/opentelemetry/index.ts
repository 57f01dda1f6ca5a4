/** OpenTelemetry metrics: give the listener to your executor. */
export { openTelemetryListener } from './open-telemetry-listener'
export type { OpenTelemetryListenerOptions } from './open-telemetry-listener'
