import { setInterval } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { LockRecord } from '../sql/internal'
import { forJson, holding, table } from './describe-lock'
import { terminalWidth, wrap } from './layout'
import type { Flags } from './options'
import { oneLine, print, printJson, warn } from './output'

const EVERY = 1_000
const HOME = '\u001B[H'
const CLEAR_BELOW = '\u001B[J'
const CLEAR_LINE = '\u001B[K'
const CLEAR_SCREEN = '\u001B[2J'

/** Shows the locks until SIGINT or SIGTERM: as a table on a terminal, otherwise as a line for each change. */
export async function watchLocks(
  read: () => Promise<readonly LockRecord[]>,
  { json, wide }: Partial<Flags<'json' | 'wide'>>,
): Promise<void> {
  const { show, fail } = process.stdout.isTTY && !json ? onTerminal(wide) : changes(json)
  // An error in the first read ends the command. Later errors do not, because the database may be unreachable for a while.
  show(await read())
  const ended = new AbortController()
  const end = (): void => {
    ended.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  // The reader of the pipe has ended, such as `| head`.
  process.stdout.once('error', end)
  try {
    for await (const ask of setInterval(EVERY, read, { signal: ended.signal }))
      await ask().then(show, (error: unknown) => {
        fail(oneLine(error))
      })
  } catch (error) {
    if (!ended.signal.aborted) throw error
  }
}

interface View {
  readonly show: (locks: readonly LockRecord[]) => void
  /** @param why the reason why the locks could not be read */
  readonly fail: (why: string) => void
}

/** Rows that do not fit are left out, because they would scroll. */
function onTerminal(wide: boolean | undefined): View {
  let shown: readonly LockRecord[] = []
  const draw = (why = ''): void => {
    const width = terminalWidth()
    const failure = why === '' ? [] : wrap(why, width).map((line) => styleText('red', line))
    const head = [`${shown[0]?.now.toISOString() ?? ''}  Ctrl-C ends`, ...failure, '']
    const rows = table(shown, width, wide).split('\n')
    const room = Math.max(1, (process.stdout.rows || Infinity) - head.length - 1)
    const hidden = rows.length - room
    const fitting = hidden > 0 ? [...rows.slice(0, room - 1), `… and ${hidden + 1} more`] : rows
    const lines = [...head, ...fitting].map((line) => line + CLEAR_LINE)
    print(`${HOME}${lines.join('\n')}${CLEAR_BELOW}\n`)
  }
  print(CLEAR_SCREEN)
  process.stdout.on('resize', () => {
    draw()
  })
  return {
    show: (locks) => {
      shown = locks
      draw()
    },
    fail: draw,
  }
}

/** Prints changes, except of a lease's end, which an extension changes again and again. */
function changes(json: boolean | undefined): View {
  let before = new Map<string, string>()
  return {
    show: (locks) => {
      const now = new Map(
        locks.map((lock) => [lock.name, `${lock.held} ${lock.lockedBy} ${Number(lock.lockedAt)}`]),
      )
      for (const lock of locks)
        if (before.get(lock.name) !== now.get(lock.name)) {
          if (json) printJson(forJson(lock), 0)
          else print(`${lock.now.toISOString()} ${holding(lock)}`)
        }
      before = now
    },
    fail: warn,
  }
}
