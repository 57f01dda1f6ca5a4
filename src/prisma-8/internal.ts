/** What the command line imports from this folder: the public API. */
export { guard, prismaLockProvider } from './prisma-8-lock-provider'
export { prismaContract } from './prisma-contract'
export type { Prisma8ClientLike, Prisma8TransactionLike } from './prisma-8-sql-client'
