import { setTimeout as sleep } from 'node:timers/promises'
import { openProvider, winAndRelease } from './open-provider'

/** Sets how many contenders try the lock from now on. The process answers with its measurements so far. */
export interface ContenderOrder {
  readonly contenders: number
  /** The average interval between two attempts of one contender, in milliseconds. */
  readonly pause: number
}

/** How long each attempt took, in microseconds. */
export interface ContenderReport {
  readonly won: number[]
  readonly lost: number[]
  /** Plain reads of the row through the same pool, which alternate with the attempts. */
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
  // Open all connections now rather than while measuring.
  await Promise.all(Array.from({ length: Number(connections) }, () => winAndRelease(provider, 'contended')))
  process.send?.(report)
}

void main()
