import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog } from './event-log'
import type { Fire } from './fire'
import { JOB, type Settings } from './settings'
import { Timeline } from './timeline'
import { WorkerProcess, type News } from './worker-process'

const FIRST = ['A', 'B', 'C']
const ADDED = 'D'
const SECONDS = 22
/** On a machine that is too busy for another process to have taken over by then. */
const SECONDS_AT_MOST = 90
const KILL_IN = 6
const ADD_IN = 13
/** Into a run, so that it dies with work half done and the lock held. */
const KILL_AFTER = 150

/** The play: three processes, one of them is killed in the middle of a run, a fourth joins. */
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

  /** Gives what each process's scheduler fired, and what became of it. */
  async run(): Promise<readonly Fire[]> {
    const { url, orm } = this.settings
    const database = url.startsWith('file:')
      ? 'one SQLite file, no server'
      : new URL(url).protocol.slice(0, -1)
    console.log(
      `\n  ${FIRST.length} processes; in each a scheduler fires the same job every second. Without a lock: ${FIRST.length} runs a second.` +
        `\n  With the lock (${orm}, ${database}) one process runs it, the others skip:\n`,
    )
    try {
      for (const name of FIRST) this.#start(name)
      await this.#allReady()
      this.#timeline.header(Object.fromEntries(this.#workers.map(({ name, pid }) => [name, `(pid ${pid})`])))
      const first = Math.ceil(Date.now() / 1000) * 1000 + 1000
      // Early in the second before: all of them hear of it in time, and none fires too soon.
      await this.#until(first - 900)
      for (const worker of this.#workers) worker.start()
      const goesOn = (second: number): boolean =>
        second < SECONDS || (!this.#replaced && second < SECONDS_AT_MOST)
      for (let second = 0; goesOn(second); second++) await this.#second(first + second * 1000, second)
      await this.#killing
    } finally {
      this.#timeline.close()
      await Promise.all(this.#workers.map((worker) => worker.stop()))
    }
    return this.#fires
  }

  async #second(tick: number, second: number): Promise<void> {
    await this.#until(tick - 5)
    const failed = this.#workers.find((worker) => worker.failed)
    if (failed) throw new Error(`process ${failed.name} ended by itself`)
    this.#timeline.open(tick)
    if (second === KILL_IN) this.#killArmed = true
    if (second === ADD_IN) this.#start(ADDED)
    if (this.#killing && !this.#replaced)
      this.#timeline.note(`the dead process's lock still holds (lockAtMostFor ${JOB.lockAtMostFor})`)
    // The row stays open for the news of its second.
    await this.#until(tick + 950)
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
      if (this.#workers.some((worker) => worker.failed)) throw new Error('a process could not start')
      await sleep(50, undefined, { signal: this.#interrupted.signal })
    }
  }

  #hear(worker: WorkerProcess, news: News): void {
    if (news.kind === 'ready') {
      this.#ready.add(worker)
      if (worker.name !== ADDED) return
      worker.start()
      this.#timeline.set(worker.name, 'joined')
      return
    }
    this.#timeline.set(worker.name, news.kind, news.tick)
    if (news.kind === 'error') this.#timeline.note(news.message)
    if (news.kind !== 'running') {
      this.#fires.push({ process: worker.name, tick: news.tick, outcome: news.kind })
      return
    }
    if (this.#killArmed) {
      this.#killArmed = false
      this.#killing = this.#kill(worker, news.tick)
    } else if (this.#killing && !this.#replaced) {
      this.#replaced = true
      this.#timeline.note(`${worker.name} takes over`)
    }
  }

  async #kill(worker: WorkerProcess, tick: number): Promise<void> {
    await sleep(KILL_AFTER)
    await worker.kill()
    this.#fires.push({ process: worker.name, tick, outcome: 'killed' })
    this.#timeline.set(worker.name, 'killed', tick)
    this.#timeline.note(`kill -9 ${worker.pid}, in the middle of its run`)
    await this.log.write('killed', worker.name, tick)
  }
}
