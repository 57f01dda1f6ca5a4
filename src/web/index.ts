/**
 * A page that shows the locks, and lets people pause, resume and release them. Your app mounts it behind its own sign-in.
 *
 * @module shedlock-orm/web
 */
export { lockPage, type LockPage, type LockPageOptions } from './lock-page'
export { nodeHandler } from './node-handler'
export type { Permission } from './authorization'
