import type { LockProvider } from 'shedlock-orm'
import { prismaLockProvider } from 'shedlock-orm/prisma'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { connect } from './database'
import { connectPrisma } from './prisma-client'
import type { Orm, Settings } from './settings'

/** Creates the lock provider for each ORM. The rest of the demo does not depend on the ORM. */
const OPEN: Readonly<Record<Orm, (settings: Settings) => Promise<LockProvider>>> = {
  typeorm: async ({ url, lockTable, process }) =>
    typeOrmLockProvider(await connect(url), { tableName: lockTable, lockedBy: process }),
  prisma: async ({ url, lockTable, process }) =>
    prismaLockProvider(await connectPrisma(url), { tableName: lockTable, lockedBy: process }),
}

export function openLockProvider(settings: Settings): Promise<LockProvider> {
  return OPEN[settings.orm](settings)
}
