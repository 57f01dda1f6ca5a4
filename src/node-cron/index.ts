/**
 * node-cron 4.4 and later: `setRunCoordinator(shedLockCoordinator(provider))`.
 *
 * @module shedlock-orm/node-cron
 */
export { shedLockCoordinator } from './shed-lock-coordinator'
