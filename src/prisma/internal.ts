/** What the command line imports from this folder: the public API, and a few internal names. */
export { guard } from './guard'
export type { TransactionClientLike } from './guard'
export type { PrismaClientLike, RawClientLike } from './prisma-client'
export { prismaLockProvider, shedlock } from './prisma-lock-provider'
export type {
  PrismaLockProviderOptions,
  ShedLockClient,
  ShedLockExtension,
  ShedLockExtensionOptions,
} from './prisma-lock-provider'
export { prismaMigration, prismaModel } from './prisma-model'
export type { PrismaProvider } from './prisma-model'
export { lockStatementName } from './prisma-sql-client'
export { prismaContract } from './prisma8/prisma8'
export type { Prisma8ClientLike, Prisma8ScopeLike, Prisma8TransactionLike } from './prisma8/sql-client'
