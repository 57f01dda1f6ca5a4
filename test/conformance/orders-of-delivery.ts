import type { Lock } from '../../src/core/internal'
import { dialects, SqlLockProvider, type DialectName } from '../../src/sql/internal'
import { PostalSqlExecutor, type Delivery } from './postal-sql-executor'
import { eventually } from '../eventually'
import type { OpenClient } from './every-client'

/** For how long, and how it is delivered: `late` after the next step, `very late` after the unlock. */
type Extension = readonly [lockAtMostFor: string, delivery: Delivery]

export interface Story {
  readonly name: string
  readonly lockAtLeastFor: 0 | '30m'
  readonly take: Delivery
  readonly extensions: readonly Extension[]
  readonly unlock: Delivery
}

/** What rounding to milliseconds, twice, may add. */
const ROUNDING = 2
const LOCK_AT_MOST_FOR = '1h'

/** Plays one order of delivery on a real database. @returns what went wrong */
export async function play(
  client: Pick<OpenClient, 'executor' | 'table'>,
  dialect: DialectName,
  story: Story,
): Promise<string[]> {
  const { name, lockAtLeastFor } = story
  const { table } = client
  const wrong: string[] = []
  const post = new PostalSqlExecutor(client.executor)
  const provider = new SqlLockProvider(post, dialects[dialect], { timeLimit: '250ms' })

  /** Nobody may trust a lease that has ended in the database, or that is not in it. */
  const compare = async (moment: string, lock: Lock): Promise<void> => {
    const asked = performance.now()
    const trusted = lock.remaining()
    const row = await table.findRow(name)
    const left = (row?.lockUntil ?? 0) - (await table.clock())
    const passed = performance.now() - asked
    if (trusted > 0 && left < trusted - passed - ROUNDING)
      wrong.push(`${moment}: trusted for ${Math.round(trusted)} ms, in the database ${left} ms`)
  }

  const send = async <T>(how: Delivery, step: () => Promise<T>): Promise<T | undefined> => {
    post.next = how
    const answer = await step().catch(() => undefined)
    post.next = 'in time'
    return answer
  }

  const extend = async (lock: Lock, [lockAtMostFor, how]: Extension): Promise<void> => {
    // In this order a pause of the process between two of these lines makes nothing look shorter.
    const asked = performance.now()
    const trusted = lock.remaining()
    if (!(await send(how, () => lock.extend(lockAtMostFor)))) return
    const shrunk = trusted - lock.remaining() - (performance.now() - asked)
    if (shrunk > ROUNDING) wrong.push(`remaining() shrank by ${Math.round(shrunk)} ms`)
  }

  const configuration = { name, lockAtMostFor: LOCK_AT_MOST_FOR, lockAtLeastFor }
  const lock = await send(story.take, () => provider.lock(configuration))
  // On a slow machine any step may fail: then there is no lock to go on with.
  if (lock) {
    await compare('taken', lock)
    for (const extension of story.extensions) {
      const late = post.collect('late')
      await extend(lock, extension)
      await compare('extended', lock)
      await late()
      await compare('extended, and an old request was delivered', lock)
    }
    await post.deliver('late')
    await compare('before the unlock', lock)
    await send(story.unlock, () => lock.unlock())
    if (lock.remaining() > 0) wrong.push('trusted after the unlock')
  }

  /** Held by nobody, and at most until `lockAtLeastFor` is over. */
  const isOver = async (): Promise<boolean> => {
    const row = await table.findRow(name)
    if (!row) return true
    // The holder counts from the answer to its acquisition to the request of its release.
    const atLeast = lock && lockAtLeastFor !== 0 ? row.lockedAt + 1_860_000 : 0
    return row.lockUntil <= Math.max(await table.clock(), atLeast)
  }
  await post.deliver('late')
  // What was not freed at once is freed in the background.
  await eventually(async () => {
    if (!(await isOver())) throw new Error('held')
  }).catch(() => wrong.push('held by nobody after the unlock'))
  // A request to take it that got no answer may arrive even now, and is then freed behind.
  if (!lock) return wrong
  const over = await table.findRow(name)
  await post.deliver('very late')
  const last = await table.findRow(name)
  // The rows are compared, and no clock is asked: the machine's own may be set back meanwhile.
  if ((last?.lockUntil ?? 0) > (over?.lockUntil ?? 0)) wrong.push('held by nobody after the last delivery')
  return wrong
}
