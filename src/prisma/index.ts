/**
 * Prisma: pass your PrismaClient, or extend it.
 *
 * @module shedlock-orm/prisma
 */
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
export { prismaModel } from './prisma-model'
export type { PrismaProvider } from './prisma-model'
export { lockStatementName } from './prisma-sql-executor'
export type { Prisma8ClientLike, Prisma8ScopeLike, Prisma8TransactionLike } from './prisma8/sql-executor'

/** @internal for the command line */
export { prismaMigration } from './prisma-model'
/** @internal for the command line */
export { prismaContract } from './prisma8/prisma8'
