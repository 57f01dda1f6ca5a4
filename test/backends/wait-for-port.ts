import { connect } from 'node:net'
import { eventually } from '../eventually'

/** Waits until something listens on this port. */
export function waitForPort(port: number): Promise<void> {
  return eventually(() => connects(port), { timeout: 60_000 })
}

/** Connects, and closes the connection. */
export function connects(port: number, host = '127.0.0.1'): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 10_000 })
    const fail = (why: string): void => {
      socket.destroy()
      reject(new Error(`${host}:${port} ${why}`))
    }
    socket.on('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.on('timeout', () => fail('does not answer'))
    socket.on('error', ({ message }) =>
      fail(message.includes('ECONNREFUSED') ? 'refuses connections' : message),
    )
  })
}
