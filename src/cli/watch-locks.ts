import { setInterval } from 'node:timers/promises'
import type { LockRecord } from '../sql/internal'
import { forJson, holding, table } from './describe-lock'
import { oneLine, print, printJson, warn } from './output'

const EVERY = 1_000
const HOME = '\u001B[H'
const CLEAR_BELOW = '\u001B[J'
const CLEAR_LINE = '\u001B[K'
const CLEAR_SCREEN = '\u001B[2J'

/** Shows the locks until SIGINT or SIGTERM: a table on a terminal, elsewhere a line for each change. */
export async function watchLocks(
  read: () => Promise<readonly LockRecord[]>,
  json: boolean | undefined,
): Promise<void> {
  const show = process.stdout.isTTY && !json ? onTerminal() : changes(json)
  // A mistake in the options is one now; later the database may be away for a while.
  show(await read())
  const ended = new AbortController()
  const end = (): void => {
    ended.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  // Whoever read the lines has gone: `| head`.
  process.stdout.once('error', end)
  const tell = (error: unknown): void => {
    warn(oneLine(error))
  }
  try {
    for await (const ask of setInterval(EVERY, read, { signal: ended.signal })) await ask().then(show, tell)
  } catch (error) {
    if (!ended.signal.aborted) throw error
  }
}

function onTerminal(): (locks: readonly LockRecord[]) => void {
  print(CLEAR_SCREEN)
  return (locks) => {
    const { columns, rows } = process.stdout
    const now = locks[0]?.now.toISOString() ?? ''
    // A terminal that does not tell its size has 0. What does not fit is cut: it would scroll.
    const lines = [`${now}  Ctrl-C ends`, '', ...table(locks).split('\n')].slice(0, (rows || Infinity) - 1)
    const cut = lines.map((line) => line.slice(0, columns || Infinity) + CLEAR_LINE)
    print(`${HOME}${cut.join('\n')}${CLEAR_BELOW}\n`)
  }
}

/** A lock that is kept alive changes its end all the time, which is no news. */
function changes(json: boolean | undefined): (locks: readonly LockRecord[]) => void {
  let before = new Map<string, string>()
  return (locks) => {
    const now = new Map(
      locks.map((lock) => [lock.name, `${lock.held} ${lock.lockedBy} ${Number(lock.lockedAt)}`]),
    )
    for (const lock of locks)
      if (before.get(lock.name) !== now.get(lock.name)) {
        if (json) printJson(forJson(lock), 0)
        else print(`${lock.now.toISOString()} ${holding(lock)}`)
      }
    before = now
  }
}
