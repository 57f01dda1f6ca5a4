/**
 * Prisma 8: pass the `db` of `@prisma/orm-postgres/runtime`.
 *
 * @module shedlock-orm/prisma-8
 */
export { guard, prismaContract, prismaLockProvider } from './internal'
export type { Prisma8ClientLike, Prisma8TransactionLike } from './internal'
