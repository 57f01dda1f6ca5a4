import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import type { PrismaClientLike } from 'shedlock-orm/prisma'

export interface PrismaClient extends PrismaClientLike {
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>
}

/** The client that is generated for an example. */
const { PrismaClient } = createRequire(import.meta.url)(
  '../../examples/dist/nestjs-prisma/generated/client.js',
) as { PrismaClient: new (options: object) => PrismaClient }

export const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] }),
})
