import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

export interface Swallowing {
  stop(): Promise<void>
}

/** Listens, and then blocks its thread, so that nothing takes connections from the queue, which has room for two. */
const LISTEN = `
const { parentPort, workerData } = require('node:worker_threads')
require('node:net').createServer().listen({ ...workerData, backlog: 1 }, () => {
  parentPort.postMessage('listening')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})`
const ROOM = 2
/** In milliseconds. */
const FILLED_WITHIN = 500

/**
 * Occupies a port whose queue is full. Linux then drops the first packet of each connection, as if the host had vanished, and
 * clients send it again after 1, 3, 7, 15 and 31 seconds.
 */
export async function swallowConnections(port: number, host: string): Promise<Swallowing> {
  const worker = new Worker(LISTEN, { eval: true, workerData: { port, host } })
  await once(worker, 'message')
  const waiting = Array.from({ length: ROOM }, () => connect(port, host).on('error', () => undefined))
  const filled = Promise.all(waiting.map((socket) => once(socket, 'connect')))
  // The clients may be faster, and then it is their connections that fill the queue.
  await Promise.race([filled, sleep(FILLED_WITHIN)])
  return {
    stop: async () => {
      for (const socket of waiting) socket.destroy()
      await worker.terminate()
    },
  }
}
