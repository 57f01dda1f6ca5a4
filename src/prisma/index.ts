/**
 * Prisma: pass your PrismaClient, or extend it.
 *
 * @module shedlock-orm/prisma
 */
export { guard, lockStatementName, prismaLockProvider, prismaModel, shedlock } from './internal'
export type {
  PrismaClientLike,
  PrismaLockProviderOptions,
  RawClientLike,
  ShedLockClient,
  ShedLockExtension,
  TransactionClientLike,
} from './internal'
