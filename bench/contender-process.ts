import { setTimeout as sleep } from 'node:timers/promises'
import { openProvider, winAndRelease, type OpenProvider } from './open-provider'

/** Sets how many contenders try the lock from now on. Once they do, the process answers with what those before have measured. */
export interface ContenderOrder {
  readonly contenders: number
  /** The average interval between two attempts of one contender, in milliseconds. */
  readonly pause: number
}

/** How long each attempt took, in microseconds. */
export interface ContenderReport {
  readonly won: number[]
  readonly lost: number[]
  /** Plain reads of the row, which alternate with the attempts. */
  readonly read: number[]
}

/** How many connections the reads of all contenders share: with one more for each contender, a server would refuse some. */
const READERS = 16

const noReport = (): ContenderReport => ({ won: [], lost: [], read: [] })

async function main(): Promise<void> {
  const [, , database = '', url = '', most] = process.argv
  const instances: OpenProvider[] = []
  for (let each = 0; each < Number(most); each++)
    instances.push(await openProvider(database, url, 1, { isOneOfMany: true }))
  const reader = await openProvider(database, url, READERS)
  let report = noReport()
  let stop = new AbortController()
  let running: Promise<unknown> = Promise.resolve()

  const ask = async (question: () => Promise<keyof ContenderReport>): Promise<void> => {
    const began = performance.now()
    const answer = await question()
    report[answer].push((performance.now() - began) * 1000)
  }
  const contend = async (
    { provider }: OpenProvider,
    pause: number,
    { signal }: AbortController,
  ): Promise<void> => {
    for (let count = 0; ; count++) {
      await sleep(pause * (0.5 + Math.random()))
      if (signal.aborted) return
      await ask(async () => {
        if (count % 2 === 0) return (await winAndRelease(provider, 'contended')) ? 'won' : 'lost'
        await reader.read('contended')
        return 'read'
      })
    }
  }

  const change = async ({ contenders, pause }: ContenderOrder): Promise<void> => {
    stop.abort()
    await running
    const answer = report
    const some = instances.slice(0, contenders)
    // Open their connections now rather than while measuring.
    for (const { provider } of some) await winAndRelease(provider, 'contended')
    report = noReport()
    stop = new AbortController()
    running = Promise.all(some.map((each) => contend(each, pause, stop)))
    process.send?.(answer)
  }
  process.on('message', (order: ContenderOrder) => void change(order))
  process.on('disconnect', () => {
    stop.abort()
    void running.then(() => Promise.all([...instances, reader].map(({ close }) => close())))
  })
  process.send?.(report)
}

void main()
