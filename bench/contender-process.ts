import { setTimeout as sleep } from 'node:timers/promises'
import { openProvider, winAndRelease } from './open-provider'

/** So many are to ask for the lock from now on; what was seen until now is the answer. */
export interface ContenderOrder {
  readonly contenders: number
  readonly pause: number
}

export interface ContenderReport {
  readonly won: number
  /** How long each lost attempt took, in microseconds. */
  readonly lost: number[]
}

async function main(): Promise<void> {
  const [, , database = '', url = '', connections] = process.argv
  const { provider, close } = await openProvider(database, url, Number(connections))
  let lost: number[] = []
  let won = 0
  let stop = new AbortController()

  const contend = async (pause: number, signal: AbortSignal): Promise<void> => {
    for (;;) {
      await sleep(pause * (0.5 + Math.random()))
      if (signal.aborted) return
      const began = performance.now()
      if (await winAndRelease(provider, 'contended')) won++
      else lost.push((performance.now() - began) * 1000)
    }
  }

  process.on('message', ({ contenders, pause }: ContenderOrder) => {
    stop.abort()
    stop = new AbortController()
    process.send?.({ won, lost } satisfies ContenderReport)
    lost = []
    won = 0
    for (let count = 0; count < contenders; count++) void contend(pause, stop.signal)
  })
  process.on('disconnect', () => {
    stop.abort()
    void close()
  })
  // Every connection is opened now, not when it is measured.
  await Promise.all(Array.from({ length: Number(connections) }, () => winAndRelease(provider, 'contended')))
  process.send?.({ won, lost } satisfies ContenderReport)
}

void main()
