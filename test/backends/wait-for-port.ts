import { connect } from 'node:net'

/** Waits until something listens on this port. */
export async function waitForPort(port: number, limit = 60_000): Promise<void> {
  for (const deadline = Date.now() + limit; ;) {
    const listens = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port })
      socket.on('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (listens) return
    if (Date.now() > deadline) throw new Error(`Nothing listens on port ${port}.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
