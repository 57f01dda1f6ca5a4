import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { inTime, time } from '../core/internal'
import type { SqlSession } from '../sql/internal'

// What all connections have in common that are opened beside the app's pool.

/** What a session does with such a connection besides running statements. */
type OpenConnection = Required<Pick<SqlSession, 'release' | 'end' | 'rest' | 'wake'>>

interface Closing {
  /** What has its socket, which TLS replaces. */
  readonly wire: { readonly stream?: Partial<Socket> | undefined }
  /** Says goodbye to the server. */
  readonly close: () => unknown
  /** Closes it even while a statement is under way. */
  readonly end: () => unknown
}

/** In milliseconds. TCP repeats a lost request after a second. */
const CONNECTS_WITHIN = 2_000
/** In milliseconds: a host that is silent does not notice that its client said goodbye. */
const CLOSES_WITHIN = 1_000

/** Connects, and lets no failure leave a connection or an uncaught `error` event behind. */
export async function opened(
  connection: { on?(event: 'error' | 'end', listener: () => void): unknown },
  connect: () => Promise<unknown>,
  { wire, close, end }: Closing,
): Promise<OpenConnection> {
  let isOpen = true
  const closed = (): void => {
    isOpen = false
  }
  connection.on?.('error', closed)
  connection.on?.('end', closed)
  const late = (): Error => {
    const error = new Error('timeout: the connection was not opened in time')
    wire.stream?.destroy?.(error)
    return error
  }
  try {
    await inTime(connect(), CONNECTS_WITHIN, late, false)
  } catch (error) {
    end()
    throw error
  }
  return {
    release: async () => {
      wire.stream?.unref?.()
      time.after(CLOSES_WITHIN, () => wire.stream?.destroy?.(), false)
      await close()
    },
    end,
    rest: () => wire.stream?.unref?.(),
    wake: () => {
      wire.stream?.ref?.()
      return readSockets().then(() => isOpen)
    },
  }
}

/**
 * Lets the process read what its sockets have received: a pool would otherwise lend a connection whose end it has not noticed yet, after
 * the process was frozen, or computed for long. Twice, because the first callback may be due before sockets are read again.
 */
export function readSockets(): Promise<void> {
  return new Promise((resolve) => void nextTurn(nextTurn, resolve))
}

/** Taken now: test runners replace it with one that waits for their clock, and no socket does. In Next.js 16.1, that of promises calls itself. */
const nextTurn = setImmediate
