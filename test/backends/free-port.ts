import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Finds a port of this machine that nothing uses. It is none of those from which the system makes connections: a connection could
 * take it before the server does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
