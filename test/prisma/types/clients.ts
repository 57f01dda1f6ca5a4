import type { ActiveLock } from '../../../src/core/lock'
import { guard } from '../../../src/prisma/guard'
import { prismaLockProvider, shedlock } from '../../../src/prisma/prisma-lock-provider'
import { PrismaClient as MySqlClient } from '../generated/mysql/client'
import { Prisma, PrismaClient } from '../generated/postgresql/client'
import { PrismaClient as SqliteClient } from '../generated/sqlite/client'

declare const plain: PrismaClient
declare const logging: PrismaClient<'query'>
declare const mySql: MySqlClient
declare const sqlite: SqliteClient

prismaLockProvider(plain)
prismaLockProvider(logging)
prismaLockProvider(mySql)
prismaLockProvider(sqlite)

const other = Prisma.defineExtension({
  client: { $other: () => 1 },
  model: { order: { first: () => 'first' } },
})
const extended = plain
  .$extends(other)
  .$extends({ query: { order: { findMany: ({ args, query }) => query(args) } } })
prismaLockProvider(extended)

void plain.$transaction(async (transaction) => {
  // @ts-expect-error a lock in a transaction would be undone by its rollback
  prismaLockProvider(transaction)
  await guard(transaction)
})
void extended.$transaction(async (transaction) => {
  // @ts-expect-error a lock in a transaction would be undone by its rollback
  prismaLockProvider(transaction)
  await guard(transaction)
})

// @ts-expect-error nothing would be guarded outside of a transaction
void guard(plain)
// @ts-expect-error nor with an extended client
void guard(extended)

async function extension() {
  const locking = plain.$extends(shedlock({ defaultLockAtMostFor: '10m' }))
  const result = await locking.$executeWithLock({ name: 'report' }, async ({ signal, lock }) => {
    signal satisfies AbortSignal
    lock satisfies ActiveLock
    return (await locking.order.findMany()).map(({ note }) => note)
  })
  if (result.executed) result.value satisfies string[]

  const first = locking.$extends(other)
  const last = plain.$extends(other).$extends(shedlock())
  for (const client of [first, last]) {
    const counted = await client.$executeWithLock({ name: 'count', lockAtMostFor: '1m' }, () =>
      client.$other(),
    )
    if (counted.executed) counted.value satisfies number
    client.order.first() satisfies string
    ;(await client.order.findFirst())?.note satisfies string | undefined
  }

  const wrapped = first.$wrapWithLock({ name: 'wrapped' }, (a: number, b: string) => `${a}${b}`)
  const answer = await wrapped(1, '2')
  if (answer.executed) answer.value satisfies string
  const caught = await first.$wrapWithLock({ name: 'wrapped', onError: console.error }, () => 1)()
  caught satisfies { executed: boolean } | void
  // @ts-expect-error the task takes a number first
  await wrapped('1', '2')

  await (await last.$lockProvider.lock({ name: 'by hand', lockAtMostFor: 1000 }))?.unlock()
  prismaLockProvider(first)
  // @ts-expect-error there is no such option
  shedlock({ lockAtMostFor: '1m' })
}
void extension
void Prisma.defineExtension(shedlock())
