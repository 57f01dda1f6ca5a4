/**
 * Prisma: pass your PrismaClient, or extend it.
 *
 * @module shedlock-orm/prisma
 */
export { guard, prismaLockProvider, prismaModel, shedlock } from './internal'
export type {
  PrismaClientLike,
  PrismaLockProviderOptions,
  RawClientLike,
  ShedLockClient,
  ShedLockExtension,
  TransactionClientLike,
} from './internal'
