import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const ends =
  process.env['JOB_WAITS'] === undefined ? undefined : createInterface(process.stdin)[Symbol.asyncIterator]()

/** Stands for a reader's task, and is shorter than the others are late; or takes a time; or waits until the test ends it; or fails. */
export async function sendReport(signal?: AbortSignal): Promise<void> {
  if (process.env['JOB_FAILS'] !== undefined) throw new Error('the job fails')
  if (process.env['JOB_TAKES'] !== undefined)
    await sleep(Number(process.env['JOB_TAKES']), undefined, { signal })
  await (ends ? ends.next() : Promise.resolve(signal))
}
