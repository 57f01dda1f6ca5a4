import { expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import type { Sql, LockValues } from '../../src/sql/sql'
import { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { everyClient, openedClient, type OpenClient } from '../../test/conformance/every-client'
import { describeBackends } from '../../test/backends'
import { eventually } from '../../test/eventually'
import { UnreliableClient } from '../../test/unreliable-client'

/** Breaks a statement before it is sent, as a mutant of the model does. */
type Break = (statement: Sql, values: LockValues) => readonly [Sql, LockValues]

const intact: Break = (...all) => all
/** Makes the condition `locked_by = ?` true, and also the comparison with the end of the lease that was read. */
const releasesOthers: Break = (statement, values) => {
  if (!statement.parameters.includes('unlockedBy')) return [statement, values]
  const pieces = statement.pieces.map((piece) =>
    piece.replace(/and "locked_by" = $/, `and '' <> `).replace(/ < 1$/, ' >= 0'),
  )
  return [{ ...statement, pieces }, values]
}
const keepsOwner: Break = (statement, values) => [
  statement,
  values.unlockedBy === undefined ? values : { ...values, unlockedBy: String(values.lockedBy) },
]
const prolongs: Break = (statement, values) => {
  const pieces = statement.pieces.map((piece) => piece.replace(' < "lock_until" then ', ' is not null then '))
  return [{ ...statement, pieces }, values]
}

/** Replays a counterexample. @returns whether what the model calls WRONG has happened */
type Story = (connect: () => Connection, client: Pick<OpenClient, 'table'>, name: string) => Promise<boolean>
type Connection = readonly [provider: SqlLockProvider, network: UnreliableClient]

const twoHoldTheLock: Story = async (connect, { table }, name) => {
  const [a, networkOfA] = connect()
  const [b, networkOfB] = connect()
  networkOfA.next = 'late'
  networkOfB.next = 'request lost'
  const lockOfA = a.lock({ name, lockAtMostFor: '1h' })
  await expect(b.lock({ name, lockAtMostFor: '1h' })).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
  const lockOfC = await connect()[0].lock({ name, lockAtMostFor: '1h' })
  const sent = networkOfB.sent.length
  await eventually(async () => {
    // B sends its second release after the first one was answered.
    expect(networkOfB.sent.length > sent + 1 || !(await table.isHeld(name))).toBe(true)
  })
  await networkOfA.deliver()
  const holders = [await lockOfA, lockOfC].filter((lock) => (lock?.remaining() ?? 0) > 0)
  await b.drain()
  return holders.length > 1
}

const aReleasedLockIsProlonged: Story = async (connect, { table }, name) => {
  const [provider, network] = connect()
  const lock = await provider.lock({ name, lockAtMostFor: '1h', lockAtLeastFor: '30m' })
  // The extension is sent again, in time.
  network.next = 'request lost'
  await lock?.extend('1h')
  await lock?.unlock()
  const kept = await table.findRow(name)
  await network.deliver()
  return (await table.findRow(name))?.lockUntil !== kept?.lockUntil
}

const aReleaseProlongsTheLock: Story = async (connect, { table }, name) => {
  const [provider, network] = connect()
  const lock = await provider.lock({ name, lockAtMostFor: '1h', lockAtLeastFor: '1h' })
  const held = await table.findRow(name)
  network.next = 'late'
  const released = lock?.unlock()
  const sent = await table.clock()
  await eventually(async () => expect(await table.clock()).toBeGreaterThan(sent + 20))
  await network.deliver()
  await released
  return ((await table.findRow(name))?.lockUntil ?? 0) > (held?.lockUntil ?? 0)
}

const aRunHasLostItsRow: Story = async (connect, { table }, name) => {
  const [provider, network] = connect()
  await provider.table.pause(name, { duration: '1h', reason: 'a test' })
  network.next = 'request lost'
  await expect(provider.table.resume(name)).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
  expect(await provider.table.resume(name)).toBe(true)
  expect(await provider.lock({ name, lockAtMostFor: '1h' })).toBeDefined()
  await network.deliver()
  return !(await table.isHeld(name))
}

const anEarlierSlotIsRunAgain: Story = async (connect, { table }, name) => {
  const [provider, network] = connect()
  const slot = (await table.clock()) - 60_000
  const job = { name, lockAtMostFor: '1h' }
  await (await provider.lock({ ...job, slot: slot - 1 }))?.unlock()
  const next = await provider.lock({ ...job, slot })
  // The release is sent again, so it arrives twice.
  network.next = 'answer lost'
  await next?.unlock({ outcome: 'unused' })
  return (await provider.lock({ ...job, slot: slot - 1 })) !== undefined
}

const stories: readonly (readonly [mutant: string, broken: Break, story: Story])[] = [
  ['RELEASES_OTHERS', releasesOthers, twoHoldTheLock],
  ['RELEASE_KEEPS_OWNER', keepsOwner, aReleasedLockIsProlonged],
  ['RELEASE_PROLONGS', prolongs, aReleaseProlongsTheLock],
  ['a resume does not check the owner', releasesOthers, aRunHasLostItsRow],
  ['the release of an unused slot leaves the owner', keepsOwner, anEarlierSlotIsRunAgain],
]

// The breaks match the statements as they are written for SQLite.
const sqlite = everyClient().filter(({ orm, dialect }) => orm === 'TypeORM' && dialect === 'sqlite')

describeBackends(sqlite)('the counterexamples of the model by $title', (sqliteClient) => {
  const client = openedClient(sqliteClient)

  /** Creates providers, each with a network of its own. */
  const connectWith = (broken: Break) => (): Connection => {
    const { sqlClient } = client
    const network = new UnreliableClient({
      connect: async () => {
        const session = await sqlClient.connect()
        return {
          execute: (statement, values, wants) => session.execute(...broken(statement, values), wants),
          release: () => session.release?.(),
        }
      },
    })
    return [new SqlLockProvider(network, dialects[sqliteClient.dialect], { timeLimit: '1m' }), network]
  }

  it.each(stories)('%s: the real statements refuse what the mutant does', async (mutant, broken, story) => {
    expect(await story(connectWith(broken), client, `${mutant}, broken`)).toBe(true)
    expect(await story(connectWith(intact), client, mutant)).toBe(false)
  })
})
