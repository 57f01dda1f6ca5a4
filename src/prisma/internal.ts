/** What the command line imports from this folder: the public API, and a few internal names. */
export { guard, type TransactionClientLike } from './guard'
export type { PrismaClientLike, RawClientLike } from './prisma-client'
export { prismaLockProvider, shedlock } from './prisma-lock-provider'
export type { PrismaLockProviderOptions, ShedLockClient, ShedLockExtension } from './prisma-lock-provider'
export { modelText, prismaMigration, prismaModel, type PrismaProvider } from './prisma-model'
