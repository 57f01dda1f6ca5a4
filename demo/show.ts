import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog } from './event-log'
import type { Fire } from './fire'
import { JOB, type Settings } from './settings'
import { Timeline } from './timeline'
import { WorkerProcess, type News } from './worker-process'

const FIRST = ['A', 'B', 'C']
const ADDED = 'D'
const SECONDS = 22
/** For a machine that is so busy that no other process has taken over by then. */
const SECONDS_AT_MOST = 90
const KILL_IN = 6
const ADD_IN = 13
/** During a run, so that the instance dies with its work half done and the lock held. */
const KILL_AFTER = 150

/** The show: of three instances, one is killed in the middle of a run, and a fourth joins. */
export class Show {
  readonly #timeline = new Timeline([...FIRST, ADDED])
  readonly #workers: WorkerProcess[] = []
  readonly #ready = new Set<WorkerProcess>()
  readonly #fires: Fire[] = []
  readonly #interrupted = new AbortController()
  #killing: Promise<void> | undefined
  #killArmed = false
  #replaced = false

  constructor(
    private readonly settings: Omit<Settings, 'process'>,
    private readonly log: EventLog,
  ) {}

  interrupt(): void {
    this.#interrupted.abort(new Error('interrupted'))
  }

  /** Returns each instance's fires and their outcomes. */
  async run(): Promise<readonly Fire[]> {
    try {
      for (const name of FIRST) this.#start(name)
      await this.#allReady()
      // Early enough to reach all of them before this second, and too late for the previous one.
      const first = Math.ceil((Date.now() + 200) / 1000) * 1000
      await this.#until(first - 950)
      for (const worker of this.#workers) worker.start()
      const isTold = (): boolean => this.#replaced && this.#fires.some(({ process }) => process === ADDED)
      const goesOn = (second: number): boolean => second < SECONDS || (!isTold() && second < SECONDS_AT_MOST)
      for (let second = 0; goesOn(second); second++) await this.#second(first + second * 1000, second)
      await this.#killing
    } finally {
      await Promise.all(this.#workers.map((worker) => worker.stop()))
    }
    return this.#fires
  }

  async #second(tick: number, second: number): Promise<void> {
    await this.#until(tick - 5)
    const failed = this.#workers.find((worker) => worker.failed)
    if (failed) throw new Error(`instance ${failed.name} ended by itself`)
    const firing = [...this.#ready]
    for (const { name, running } of this.#workers) if (!running) this.#timeline.set(name, tick, 'dead')
    if (second === KILL_IN) this.#killArmed = true
    if (second === ADD_IN) this.#start(ADDED)
    while (Date.now() < tick + 950 && !firing.every(({ name }) => this.#timeline.has(name, tick)))
      await this.#until(Date.now() + 20)
    // Its row shows it, also on a slow machine.
    await this.#killing
    const runs = this.#fires.filter(({ outcome }) => outcome === 'ran' || outcome === 'killed').length
    this.#timeline.print(
      tick,
      new Map(this.#workers.map(({ name, pid }) => [name, `${name} (pid ${pid})`])),
      `${runs} ${runs === 1 ? 'run' : 'runs'} instead of ${this.#fires.length}`,
    )
  }

  async #until(time: number): Promise<void> {
    await sleep(Math.max(0, time - Date.now()), undefined, { signal: this.#interrupted.signal })
  }

  #start(name: string): void {
    this.#workers.push(
      new WorkerProcess({ ...this.settings, process: name }, (worker, news) => {
        this.#hear(worker, news)
      }),
    )
  }

  async #allReady(): Promise<void> {
    while (this.#ready.size < this.#workers.length) {
      if (this.#workers.some((worker) => worker.failed)) throw new Error('an instance could not start')
      await this.#until(Date.now() + 20)
    }
  }

  #hear(worker: WorkerProcess, news: News): void {
    if (news.kind === 'ready') {
      this.#ready.add(worker)
      if (worker.name !== ADDED) return
      worker.start()
      this.#timeline.announce(`Instance ${worker.name} joins.`)
      return
    }
    if (news.kind !== 'running') {
      this.#fires.push({ process: worker.name, tick: news.tick, outcome: news.kind })
      this.#timeline.set(worker.name, news.tick, news.kind)
      if (news.kind === 'error') this.#timeline.note(`${worker.name}: ${news.message}`)
      return
    }
    if (this.#killArmed) {
      this.#killArmed = false
      this.#killing = this.#kill(worker, news.tick)
    } else if (this.#killing && !this.#replaced) {
      this.#replaced = true
      this.#timeline.note(`The lock has expired, and ${worker.name} takes over.`)
    }
  }

  async #kill(worker: WorkerProcess, tick: number): Promise<void> {
    await sleep(KILL_AFTER)
    await worker.kill()
    this.#ready.delete(worker)
    this.#fires.push({ process: worker.name, tick, outcome: 'killed' })
    this.#timeline.note(
      `kill -9 ends ${worker.name} in the middle of its run. Its lock stays until it expires (lockAtMostFor: ${JOB.lockAtMostFor}).`,
    )
    this.#timeline.set(worker.name, tick, 'killed')
    await this.log.write('killed', worker.name, tick)
  }
}
