import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../program'
import type { LeaderOrder } from './worker'

export const FAULTS = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const
type Fault = (typeof FAULTS)[number]

export interface Elected {
  /** What happened to the leader before. */
  readonly fault: Fault
  /** From the signal to the next leader's election, in milliseconds. */
  readonly after: number
}

/** One term: the first and the last moment at which its process took itself for the leader. */
export interface Term {
  readonly token: number
  readonly from: number
  readonly to: number
}

/** Three processes stand; the leader is killed, paused or asked to end, again and again. */
export async function elections(order: LeaderOrder, count: number): Promise<Elected[]> {
  writeFileSync(order.claims, '')
  const worker = program(join(__dirname, 'worker.ts'))
  const processes = new Set<ChildProcess>()
  let elected: (by: ChildProcess) => void = () => undefined
  const next = (): Promise<ChildProcess> => new Promise((resolve) => (elected = resolve))
  const start = async (): Promise<void> => {
    const child = fork(worker, [JSON.stringify(order)])
    processes.add(child)
    child.once('exit', () => processes.delete(child))
    child.on('message', (message: { token?: number; error?: string }) => {
      if (message.token !== undefined) elected(child)
    })
    await once(child, 'message')
  }
  const outcomes: Elected[] = []
  try {
    let leading = next()
    await Promise.all([start(), start(), start()])
    let leader = await leading
    for (let index = 0; index < count; index++) {
      const fault = FAULTS[index % FAULTS.length] ?? 'SIGKILL'
      leading = next()
      const signalled = performance.now()
      leader.kill(fault)
      const deposed = leader
      leader = await leading
      outcomes.push({ fault, after: performance.now() - signalled })
      if (fault === 'SIGSTOP') deposed.kill('SIGCONT')
      else {
        if (deposed.exitCode === null && deposed.signalCode === null) await once(deposed, 'exit')
        await start()
      }
    }
  } finally {
    for (const child of processes) child.kill('SIGKILL')
  }
  return outcomes
}

export function terms({ claims }: LeaderOrder): Term[] {
  const found = new Map<string, Term>()
  for (const line of readFileSync(claims, 'utf8').trim().split('\n')) {
    const [token = '', time = '', pid = ''] = line.split(' ')
    const key = `${token} ${pid}`
    const from = found.get(key)?.from ?? Number(time)
    found.set(key, { token: Number(token), from, to: Number(time) })
  }
  return [...found.values()].sort((one, other) => one.token - other.token)
}

/** Terms that began before the one before had ended, or with a token that is not greater. */
export function overlaps(all: readonly Term[]): (readonly [Term, Term])[] {
  return all.flatMap((term, index) => {
    const before = all[index - 1]
    return before && (term.from <= before.to || term.token <= before.token) ? [[before, term] as const] : []
  })
}
