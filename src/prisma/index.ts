/**
 * Prisma: pass your PrismaClient, or extend it.
 *
 * @module shedlock-orm/prisma
 */
export { guard, lockStatementName, prismaLockProvider, prismaModel, shedlock } from './internal'
export type {
  Prisma8ClientLike,
  Prisma8ScopeLike,
  Prisma8TransactionLike,
  PrismaClientLike,
  PrismaLockProviderOptions,
  PrismaProvider,
  RawClientLike,
  ShedLockClient,
  ShedLockExtension,
  ShedLockExtensionOptions,
  TransactionClientLike,
} from './internal'
