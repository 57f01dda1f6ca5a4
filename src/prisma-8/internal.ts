/** What the command line and the tests import from this folder: the public API, and a few internal names. */
export { guard, prismaLockProvider } from './prisma-8-lock-provider'
export { prismaContract } from './prisma-contract'
export { prisma8Code, prisma8NotSent } from './prisma-8-sql-client'
export type { Prisma8ClientLike, Prisma8TransactionLike } from './prisma-8-sql-client'
