import { monotonic } from './history'

/** Where a run can be hit. */
export const PHASES = [
  'asking',
  'acquired',
  'working',
  // After the last look at the signal.
  'checked',
  'checked-guarded',
  'in-transaction',
  'guarded',
  'committed',
  'unlocking',
] as const
export type Phase = (typeof PHASES)[number]

/** What happens to the process at the next such phase. */
export interface Ambush {
  readonly phase: Phase
  readonly action: 'kill' | 'stop' | 'block' | 'tell'
  /** For `block`: how long the event loop does nothing. */
  readonly milliseconds: number
  /** Monotonic: nobody waits for it any more. */
  readonly expires: number
}

/** The ambushes that lie in wait in this process. */
export class Phases {
  #ambushes: Ambush[] = []

  /** @param tell asks the harness to act, and waits until it has */
  constructor(private readonly tell: (phase: Phase) => Promise<void>) {}

  lay(ambush: Ambush): void {
    this.#ambushes.push(ambush)
  }

  async reach(phase: Phase): Promise<void> {
    const ambush = this.#ambushes.find((each) => each.phase === phase && monotonic() < each.expires)
    if (!ambush) return
    this.#ambushes = this.#ambushes.filter((each) => each !== ambush)
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
      case 'tell':
        await this.tell(phase)
    }
  }
}
