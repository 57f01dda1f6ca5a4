/**
 * Prisma: pass your PrismaClient, or extend it.
 *
 * @module shedlock-orm/prisma
 */
export { guard } from './guard'
export type { TransactionClientLike } from './guard'
export { lockStatementName } from './lock-statement-name'
export type { PrismaClientLike, RawClientLike } from './prisma-client-like'
export type {
  Prisma8ClientLike,
  Prisma8Connection,
  Prisma8Queryable,
  Prisma8RuntimeLike,
  Prisma8TransactionLike,
  RawTag,
} from './prisma8-client-like'
export { prismaLockProvider } from './prisma-lock-provider'
export type { PrismaLockProviderOptions } from './prisma-lock-provider'
export { prismaContract } from './prisma-contract'
export { prismaMigration } from './prisma-migration'
export { prismaModel } from './prisma-model'
export type { PrismaProvider } from './prisma-model'
export { shedlock } from './shed-lock-extension'
export type { ShedLockClient, ShedLockExtension, ShedLockExtensionOptions } from './shed-lock-extension'
