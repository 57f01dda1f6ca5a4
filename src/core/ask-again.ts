import { Lease } from './lease'
import { time } from './time'

/** How long to go on asking, in milliseconds. */
export interface Patience {
  readonly timeout: number
  /** The longest pause between two attempts; each is a random part of it. */
  readonly pause: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Asks until the answer is final or the time is over.
 *
 * @returns the last answer
 * @throws what `ask` throws, at once; the reason of `signal`, as soon as it aborts
 */
export async function askAgain<T>(
  ask: () => Promise<T>,
  isFinal: (answer: T) => boolean,
  { timeout, pause, signal }: Patience,
): Promise<T> {
  const patience = new Lease(timeout)
  for (;;) {
    signal?.throwIfAborted()
    const answer = await ask()
    const left = patience.remaining()
    if (left === 0 || isFinal(answer)) return answer
    await sleep(Math.min(left, time.jittered(pause)), signal)
  }
}

/** Ends early when the signal aborts. Not the one of `node:timers/promises`, which the fake timers of test runners do not replace. */
export function sleep(pause: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = time.after(pause, wake, true)
    signal?.addEventListener('abort', wake)
  })
}
