import { setTimeout as sleep } from 'node:timers/promises'
import { JAVA } from './java-shedlock'
import { median } from './quantile'
import type { Operation, Target } from './operation'

/** What one operation costs, on the wire and in the server. */
export interface Cost {
  readonly scenario: string
  readonly who: string
  readonly statements: number
  readonly roundTrips: number
  readonly logBytes: number
  /** In microseconds; null where the server is not on this machine, or is the client. */
  readonly serverCpu: number | null
  /** In microseconds; null where the client is another process. */
  readonly clientCpu: number | null
  /** Whether it gets by while somebody else's transaction has the row locked. Only of our losers, and Java's. */
  readonly waitsForRow: boolean | null
}

const RUNS = 50
const REPEATS = 7

/** @param target reached over a counting wire, so that its times are of no use */
export async function costs(target: Target): Promise<Cost[]> {
  const all: Cost[] = []
  for (const operation of target.operations) all.push(await cost(target, operation))
  // What says nothing over the wire has a server of its own.
  return all.filter(({ statements }) => statements !== 0)
}

async function cost({ traffic, server, whileRowIsLocked }: Target, operation: Operation): Promise<Cost> {
  const { scenario, who, run } = operation
  const wire = traffic ?? { statements: NaN, roundTrips: NaN }
  for (let count = 0; count < RUNS; count++) await run()
  const repeats: Omit<Cost, 'scenario' | 'who' | 'waitsForRow'>[] = []
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const { statements, roundTrips } = { ...wire }
    const [log, cpu, client] = [await server.log(), await server.cpu(), process.cpuUsage()]
    for (let count = 0; count < RUNS; count++) await run()
    const { user, system } = process.cpuUsage(client)
    const serverCpu = await cpu()
    repeats.push({
      statements: (wire.statements - statements) / RUNS,
      roundTrips: (wire.roundTrips - roundTrips) / RUNS,
      logBytes: (await log()) / RUNS,
      serverCpu: Number.isNaN(serverCpu) ? null : serverCpu / RUNS,
      clientCpu: operation.timed ? null : (user + system) / RUNS,
    })
  }
  return {
    scenario,
    who,
    statements: median(repeats.map((one) => one.statements)),
    roundTrips: median(repeats.map((one) => one.roundTrips)),
    // The least: the server writes things of its own in between.
    logBytes: Math.min(...repeats.map((one) => one.logBytes)),
    serverCpu: repeats[0]?.serverCpu === null ? null : median(repeats.map((one) => one.serverCpu ?? NaN)),
    clientCpu: operation.timed ? null : median(repeats.map((one) => one.clientCpu ?? NaN)),
    waitsForRow:
      scenario === 'lose' && (who === JAVA || who.startsWith('ours'))
        ? await whileRowIsLocked(() => isSlow(run()))
        : null,
  }
}

/** A row lock is waited for until it goes, a second is long enough to tell. */
async function isSlow(running: Promise<unknown>): Promise<boolean> {
  const settled = running.then(
    () => false,
    () => false,
  )
  return Promise.race([settled, sleep(1000, true)])
}
