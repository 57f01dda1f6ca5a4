import { monotonic } from '../history/events'

/** The phases of a run in which it can be disturbed. */
export const PHASES = [
  'asking',
  'acquired',
  'working',
  // After the last check of the signal.
  'checked',
  'checked-guarded',
  'in-transaction',
  'guarded',
  'committed',
  'unlocking',
] as const
export type Phase = (typeof PHASES)[number]

/** What happens to the process when it next reaches a phase. */
export interface Ambush {
  readonly phase: Phase
  readonly action: 'kill' | 'stop' | 'block' | 'report'
  /** For `block`: how long the event loop is blocked. */
  readonly milliseconds: number
  /** The monotonic time after which the ambush has no effect. */
  readonly expires: number
}

/** The ambushes that have been laid for this process. */
export class Phases {
  #ambushes: Ambush[] = []

  /** @param report lets the harness act, and resolves when it has */
  constructor(private readonly report: (phase: Phase) => Promise<void>) {}

  lay(ambush: Ambush): void {
    this.#ambushes.push(ambush)
  }

  async reach(phase: Phase): Promise<void> {
    const ambush = this.#ambushes.find((laid) => laid.phase === phase && monotonic() < laid.expires)
    if (!ambush) return
    this.#ambushes = this.#ambushes.filter((laid) => laid !== ambush)
    switch (ambush.action) {
      case 'kill':
      case 'stop':
        process.kill(process.pid, ambush.action === 'kill' ? 'SIGKILL' : 'SIGSTOP')
        break
      case 'block': {
        const until = monotonic() + ambush.milliseconds
        while (monotonic() < until);
        break
      }
      case 'report':
        await this.report(phase)
    }
  }
}
