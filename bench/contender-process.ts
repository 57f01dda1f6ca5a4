import { setTimeout as sleep } from 'node:timers/promises'
import { openProvider, winAndRelease } from './open-provider'

/** So many are to ask for the lock from now on; what was seen until now is the answer. */
export interface ContenderOrder {
  readonly contenders: number
  /** Between two questions of one contender, on average, in milliseconds. */
  readonly pause: number
}

/** How long each question took, in microseconds. */
export interface ContenderReport {
  readonly won: number[]
  readonly lost: number[]
  /** Mere reads of the row through the same pool, in turn with the attempts. */
  readonly read: number[]
}

const noReport = (): ContenderReport => ({ won: [], lost: [], read: [] })

async function main(): Promise<void> {
  const [, , database = '', url = '', connections] = process.argv
  const { provider, read, close } = await openProvider(database, url, Number(connections))
  let report = noReport()
  let stop = new AbortController()
  let running: Promise<unknown> = Promise.resolve()

  const ask = async (question: () => Promise<keyof ContenderReport>): Promise<void> => {
    const began = performance.now()
    const answer = await question()
    report[answer].push((performance.now() - began) * 1000)
  }
  const contend = async (pause: number, { signal }: AbortController): Promise<void> => {
    for (let count = 0; ; count++) {
      await sleep(pause * (0.5 + Math.random()))
      if (signal.aborted) return
      await ask(async () => {
        if (count % 2 === 0) return (await winAndRelease(provider, 'contended')) ? 'won' : 'lost'
        await read('contended')
        return 'read'
      })
    }
  }

  process.on('message', ({ contenders, pause }: ContenderOrder) => {
    stop.abort()
    stop = new AbortController()
    process.send?.(report)
    report = noReport()
    running = Promise.all([running, ...Array.from({ length: contenders }, () => contend(pause, stop))])
  })
  process.on('disconnect', () => {
    stop.abort()
    void running.then(close)
  })
  // Every connection is opened now, not when it is measured.
  await Promise.all(Array.from({ length: Number(connections) }, () => winAndRelease(provider, 'contended')))
  process.send?.(report)
}

void main()
