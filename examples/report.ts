import { setTimeout as sleep } from 'node:timers/promises'

/** Stands for your task. It takes a moment, and stops when it is told to. */
export async function sendReport(signal?: AbortSignal): Promise<void> {
  console.log(`begin ${new Date().toISOString()}`)
  await sleep(Number(process.env['WORK'] ?? 100), undefined, { signal })
  console.log(`end ${new Date().toISOString()}`)
}
