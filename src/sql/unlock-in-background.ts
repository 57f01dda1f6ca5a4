import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, LONGEST_TIMEOUT, type Lease } from '../core'

const FIRST_PAUSE = 100
const LONGEST_PAUSE_AFTER_ERROR = 30_000

/**
 * Repeats an unlock until the lease is over, which frees the lock anyway. Keeps no process alive.
 *
 * @param unlock gives how many rows it changed
 * @param until `answered`: whatever the database says, there is nothing left to free. `freed`: an acquire whose
 *   connection broke may still wait for the row inside the server, so an unlock that finds nothing has to come again,
 *   later and later
 */
export async function unlockInBackground(
  unlock: () => Promise<number>,
  lease: Lease,
  until: 'answered' | 'freed',
): Promise<void> {
  for (let pause = FIRST_PAUSE; lease.remaining() > 0; pause *= 2) {
    try {
      const changed = await unlock()
      if (until === 'answered' || changed > 0) return
    } catch (error) {
      if (error instanceof LockError) return
      pause = Math.min(pause, LONGEST_PAUSE_AFTER_ERROR)
    }
    await sleep(Math.min(pause, lease.remaining(), LONGEST_TIMEOUT), undefined, { ref: false })
  }
}
