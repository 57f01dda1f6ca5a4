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
  /** In microseconds; null if the server is on another machine or embedded in the client. */
  readonly serverCpu: number | null
  /** In microseconds; null if the client is another process. */
  readonly clientCpu: number | null
  /**
   * Whether it waits while another transaction has locked the row. Only measured for refused attempts of ours and of
   * Java's.
   */
  readonly waitsForRow: boolean | null
}

const RUNS = 50
const REPEATS = 7

/** @param target a target whose traffic is counted, which makes its times useless */
export async function costs(target: Target): Promise<Cost[]> {
  const all: Cost[] = []
  for (const operation of target.operations) all.push(await cost(target, operation))
  // An operation without traffic on this connection uses another server.
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
    // Take the minimum, because the server also writes for itself.
    logBytes: Math.min(...repeats.map((one) => one.logBytes)),
    serverCpu: repeats[0]?.serverCpu === null ? null : median(repeats.map((one) => one.serverCpu ?? NaN)),
    clientCpu: operation.timed ? null : median(repeats.map((one) => one.clientCpu ?? NaN)),
    waitsForRow:
      scenario === 'lose' && (who === JAVA || who.startsWith('ours'))
        ? await whileRowIsLocked(() => isSlow(run()))
        : null,
  }
}

/** Returns whether an operation is still running after a second. One that waits for a row lock waits until the lock is released. */
async function isSlow(running: Promise<unknown>): Promise<boolean> {
  const settled = running.then(
    () => false,
    () => false,
  )
  return Promise.race([settled, sleep(1000, true)])
}
