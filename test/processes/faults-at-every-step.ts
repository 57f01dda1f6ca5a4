/**
 * Runs tasks on a database that fails at one step after the other, and counts what is left behind. A process of its own,
 * because it runs under `--unhandled-rejections=strict` and has to end by itself.
 */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { LockError, LockingTaskExecutor, type LockProvider } from '../../src/core/internal'
import {
  dialects,
  DriverError,
  SqlLockProvider,
  type DialectName,
  type SqlClient,
} from '../../src/sql/internal'
import { typeOrmClient } from '../conformance/sql-clients'
import { type Fault, UnreliableClient } from '../unreliable-client'

const STEPS = ['look at the table', 'take', 'extend', 'unlock'] as const
type Step = (typeof STEPS)[number]
const TIME_LIMIT = 5_000
const TOO_LATE = TIME_LIMIT + 200

/** Ways in which a statement fails. */
const FAULTS = {
  'throws synchronously': () => {
    throw new TypeError('the client is broken')
  },
  'loses the connection before it is sent': () => Promise.reject(new DriverError(undefined, 'ECONNRESET')),
  'loses the connection after it is done': async (send) => {
    await send()
    throw new DriverError(undefined, 'ECONNRESET')
  },
  'is refused by the server': () => Promise.reject(new DriverError('53300', 'too many connections')),
  'is answered too late': async (send) => {
    await sleep(TOO_LATE)
    return send()
  },
  'fails too late': async (send) => {
    await send()
    await sleep(TOO_LATE)
    throw new DriverError(undefined, 'ETIMEDOUT')
  },
} as const satisfies Record<string, Fault>

const { dialect: name, options } = JSON.parse(process.argv[2] ?? '') as {
  dialect: DialectName
  options: DataSourceOptions
}
const dialect = dialects[name]

const signals: AbortSignal[] = []
const unlockFailures: string[] = []

async function runWithFault(
  client: SqlClient,
  step: Step,
  fault: keyof typeof FAULTS,
  taskFails: boolean,
): Promise<string> {
  const title = `${step}: the statement ${fault}${taskFails ? ', and the task fails' : ''}`
  const lockName = title.slice(0, 64).trim()
  const network = new UnreliableClient(client)
  const provider = new SqlLockProvider(network, dialect, { timeLimit: TIME_LIMIT })
  const answers: Promise<unknown>[] = []
  const failing: Fault = (send) => {
    const answer = FAULTS[fault](send)
    answers.push(answer)
    return answer
  }
  const during = (which: Step): void => {
    network.fault = which === step ? failing : undefined
  }
  const executor = new LockingTaskExecutor(provider, {
    listeners: [
      {
        onUnlockFailed: ({ error }) => {
          assert(error instanceof LockError)
          unlockFailures.push(title)
        },
      },
    ],
  })
  if (step === 'take')
    await (await provider.lock({ name: `${lockName.slice(0, 60)} +`, lockAtMostFor: '1m' }))?.unlock()
  during(step === 'look at the table' ? step : 'take')
  const business = new Error('business')
  let ran = false
  const run = executor.executeWithLock({ name: lockName, lockAtMostFor: '1m' }, async ({ signal, lock }) => {
    ran = true
    signals.push(signal)
    during('extend')
    const extension = await lock.extend('2m').catch((error: unknown) => error)
    assert.equal(extension instanceof LockError, step === 'extend', title)
    during('unlock')
    if (taskFails) throw business
    return 'done'
  })
  const outcome: unknown = await run.catch((error: unknown) => error)
  network.fault = undefined
  if (step === 'extend' || step === 'unlock') {
    assert.deepEqual(outcome, taskFails ? business : { executed: true, value: 'done' }, title)
  } else {
    assert(outcome instanceof LockError, title)
    assert.equal(ran, false, title)
  }
  await Promise.allSettled(answers)
  return lockName
}

async function untilFree(provider: LockProvider, lockName: string): Promise<void> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const lock = await provider.lock({ name: lockName, lockAtMostFor: '1m' })
    if (lock) return lock.unlock()
    assert(performance.now() < deadline, `'${lockName}' is never freed`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

interface Pool {
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
  readonly _allConnections?: { readonly length: number }
  readonly _freeConnections?: { readonly length: number }
  readonly borrowed?: number
  readonly pending?: number
  readonly connectionsInUse?: number
}

/** Connections that nobody gave back, and callers that wait for one: of the pool of pg, mysql2, mssql or oracledb. */
function leakedConnections(dataSource: DataSource): number {
  const { master, pool } = dataSource.driver as unknown as { master?: Pool; pool?: Pool }
  // Not taken apart: some of these are getters.
  const one = master ?? pool ?? {}
  if (name === 'mssql') return count(one.borrowed) + count(one.pending)
  if (name === 'oracle') return count(one.connectionsInUse)
  assert(name === 'sqlite' || (one.totalCount ?? one._allConnections?.length), 'no pool is found')
  const { totalCount = 0, idleCount = 0, waitingCount = 0, ...mysql } = one
  const busy = (mysql._allConnections?.length ?? 0) - (mysql._freeConnections?.length ?? 0)
  return totalCount - idleCount + waitingCount + busy
}

function count(connections: number | undefined): number {
  assert(connections !== undefined, 'no pool is found')
  return connections
}

function countListeners(): number {
  return process.eventNames().reduce((count, event) => count + process.listenerCount(event), 0)
}

async function main(): Promise<void> {
  const listeners = countListeners()
  const dataSource = await new DataSource(options).initialize()
  const client = typeOrmClient(dataSource, name)

  const cases = STEPS.flatMap((step) =>
    (Object.keys(FAULTS) as (keyof typeof FAULTS)[]).flatMap((fault) => [
      () => runWithFault(client, step, fault, false),
      () => runWithFault(client, step, fault, true),
    ]),
  )
  const names: string[] = []
  const worker = async (): Promise<void> => {
    for (let next = cases.shift(); next; next = cases.shift()) names.push(await next())
  }
  const runs = cases.length
  // Half of them at a time: most of it is waiting for answers that are too late.
  await Promise.all(Array.from({ length: runs / 2 }, worker))

  const provider = new SqlLockProvider(client, dialect)
  for (const lockName of new Set(names)) await untilFree(provider, lockName)
  const report = {
    runs,
    unlockFailures: new Set(unlockFailures).size,
    connections: leakedConnections(dataSource),
    abortListeners: signals.flatMap((signal) => getEventListeners(signal, 'abort')).length,
    processListeners: Math.max(0, countListeners() - listeners),
  }
  await dataSource.destroy()
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  // Comes only when nothing is left that would keep the process alive.
  process.once('beforeExit', () => {
    console.log(JSON.stringify({ ...report, timers }))
  })
}

void main()
