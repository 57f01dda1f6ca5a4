// The machine under an instance: its process can be paused, and its clock can be late.

const { Date: TrueDate, setTimeout: trueTimeout, clearTimeout: trueClear } = globalThis
const timers = new Set<number>()
let behind = 0
let waiting: (() => void)[] | undefined

/** The time that all instances and the database share. */
export const trueTime = (): number => TrueDate.now()

/** Calls back at once, or when the paused process resumes. */
export function whenAwake(callback: () => void): void {
  if (waiting) waiting.push(callback)
  else callback()
}

/** Callbacks that were due during a pause run at its end, each in its own turn of the event loop. */
export function setMachine(paused: boolean, late: number): void {
  behind = late
  const due = waiting ?? []
  waiting = paused ? due : undefined
  if (!paused)
    for (const callback of due)
      trueTimeout(() => {
        whenAwake(callback)
      })
}

globalThis.Date = class extends TrueDate {
  constructor(...parts: unknown[]) {
    super(...((parts.length > 0 ? parts : [TrueDate.now() - behind]) as [number]))
  }
  static override now(): number {
    return TrueDate.now() - behind
  }
} as DateConstructor

globalThis.setTimeout = ((callback: () => void, pause?: number) => {
  const fire = (): void => {
    if (timers.delete(timer)) callback()
  }
  const timer: number = trueTimeout(() => {
    whenAwake(fire)
  }, pause) as unknown as number
  timers.add(timer)
  return timer
}) as typeof setTimeout

globalThis.clearTimeout = ((timer: number) => {
  timers.delete(timer)
  trueClear(timer)
}) as typeof clearTimeout
