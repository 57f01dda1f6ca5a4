import { expect, it } from '@jest/globals'
import { everyClient, openedClient } from './every-client'
import { play, type Story } from './orders-of-delivery'
import type { Delivery } from './postal-sql-executor'
import { describeBackends } from '../backends'

const DELIVERIES: readonly Delivery[] = ['in time', 'answer lost', 'late', 'very late']
const UNLOCKS: readonly Delivery[] = ['in time', 'answer lost', 'late']
const AT_LEAST = [0, '30m'] as const
/** A lock is taken for an hour. */
const EXTENSIONS = { equal: '1h', longer: '2h', shorter: '10s' } as const
type Extension = keyof typeof EXTENSIONS
const KINDS = Object.keys(EXTENSIONS) as Extension[]
const PAIRS = KINDS.flatMap((first) => KINDS.map((second) => [first, second] as const))
/** What a server makes of a statement depends on the row alone: each kind is once the first and once the second. */
const PAIRS_ON_SERVERS = PAIRS.filter(
  ([first, second]) => KINDS.indexOf(second) === (KINDS.indexOf(first) + 1) % KINDS.length,
)
/** Few at a time, so that what is in time is answered in time. */
const AT_ONCE = 16

// Whole statements are late or lost, whatever client sends them: one for each database is enough.
const clients = everyClient().filter(({ orm }) => orm === 'TypeORM')

describeBackends(clients)('whatever is late or lost, by $title', (each) => {
  const client = openedClient(each)
  let stories = 0

  const playAll = async (unnamed: readonly Omit<Story, 'name'>[]): Promise<string[]> => {
    const wrong: string[] = []
    const queue = unnamed.map((story) => ({ ...story, name: `story ${++stories}` }))
    const player = async (): Promise<void> => {
      for (let story = queue.shift(); story; story = queue.shift()) {
        const { name, ...rest } = story
        const found = await play(client, each.dialect, story)
        wrong.push(...found.map((what) => `${what} – ${name}, ${JSON.stringify(rest)}`))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, player))
    return wrong
  }

  it('a lock that was taken is held by its holder or by nobody', async () => {
    const stories = UNLOCKS.flatMap((take) =>
      AT_LEAST.flatMap((lockAtLeastFor) =>
        UNLOCKS.map((unlock) => ({ take, lockAtLeastFor, extensions: [], unlock })),
      ),
    )
    expect(await playAll(stories)).toEqual([])
  })

  it.each(each.dialect === 'sqlite' ? PAIRS : PAIRS_ON_SERVERS)(
    'nobody trusts a lease that is over, and nobody is kept out by nobody, with an %s and then a %s extension',
    async (first, second) => {
      const stories = DELIVERIES.flatMap((one) =>
        DELIVERIES.flatMap((other) =>
          AT_LEAST.flatMap((lockAtLeastFor) =>
            UNLOCKS.map((unlock) => ({
              take: 'in time' as const,
              lockAtLeastFor,
              extensions: [[EXTENSIONS[first], one] as const, [EXTENSIONS[second], other] as const],
              unlock,
            })),
          ),
        ),
      )
      expect(await playAll(stories)).toEqual([])
    },
  )
})
