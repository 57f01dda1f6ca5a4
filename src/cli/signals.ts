import { constants } from 'node:os'

/** What a terminal or a container runtime sends; the command decides what it means. */
const CAUGHT = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
const BY_SIGNAL = 128

/** The exit status that a shell gives for a signal. */
export function statusOf(signal: NodeJS.Signals): number {
  return BY_SIGNAL + constants.signals[signal]
}

/**
 * Catches signals from the start to the end of the process: the first process of a container that does not is never ended
 * by SIGTERM, and one that leaves it to the default in between does not unlock.
 */
export class Signals {
  /** The first one that came. */
  received: NodeJS.Signals | undefined
  #handle: (signal: NodeJS.Signals) => void = () => undefined

  constructor() {
    for (const caught of CAUGHT) {
      process.on(caught, (signal) => {
        this.received ??= signal
        this.#handle(signal)
      })
    }
  }

  /** From now on this is told each one, instead of whoever was told before. */
  tell(handle: (signal: NodeJS.Signals) => void): void {
    this.#handle = handle
  }
}
