import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import type { LockRecord, SqlLockProvider } from '../sql'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { CommandError, ExitCode } from './exit-code'
import { addOptions } from './options'
import { columns, print, printJson } from './output'

interface ReadFlags extends ConnectionFlags {
  readonly json?: boolean
}

export function addLockCommands(program: Command): void {
  const list = program
    .command('list')
    .summary('list the locks: who holds what, since when, until when')
    .description('Lists the locks, in UTC and by the clock of the database.')
  addOptions(list, 'held', 'json')
  addConnectionOptions(list).action((flags: ReadFlags & { held?: boolean }) =>
    withConnection(flags, async ({ provider }) => {
      const locks = (await provider.listLocks()).filter(({ held }) => held || !flags.held)
      if (flags.json) printJson(locks)
      else print(table(locks))
    }),
  )

  const show = program
    .command('show')
    .argument('<name>', 'the name of the lock')
    .summary('show one lock')
    .description(
      'Shows one lock, in UTC and by the clock of the database. Exit status 1 if there is no such lock.',
    )
  addOptions(show, 'json')
  addConnectionOptions(show).action((name: string, flags: ReadFlags) =>
    withConnection(flags, async ({ provider }) => {
      const lock = await find(provider, name)
      if (flags.json) printJson(lock)
      else print(details(lock))
    }),
  )

  const release = program
    .command('release')
    .argument('<name>', 'the name of the lock')
    .summary('free a lock whose holder is gone')
    .description(
      'Shows who holds the lock, asks, and frees it – only if the same owner still holds it. A holder that is alive is not stopped: somebody else may then run beside it. Exit status 1 if the lock was not freed.',
    )
  addOptions(release, 'yes')
  addConnectionOptions(release).action((name: string, flags: ConnectionFlags & { yes?: boolean }) =>
    withConnection(flags, async ({ provider }) => {
      const lock = await find(provider, name)
      print(details(lock))
      if (!lock.held) {
        print('It is free already.')
        return
      }
      if (!flags.yes) await confirm()
      if (!(await provider.releaseLock(name, lock.lockedBy)))
        throw new CommandError(
          ExitCode.no,
          `Lock '${name}' was not freed: this owner does not hold it any more.`,
        )
      print('It is free now.')
    }),
  )
}

async function find(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = (await provider.listLocks()).find((each) => each.name === name)
  if (!lock) throw new CommandError(ExitCode.no, `There is no lock '${name}': it was never taken.`)
  return lock
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY)
    throw new CommandError(ExitCode.usage, 'There is nobody to ask – give --yes to free it all the same.')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let interrupted = false as boolean
  terminal.once('SIGINT', () => {
    interrupted = true
    terminal.close()
  })
  // Ctrl-D closes it as well.
  const closed = once(terminal, 'close').then(() => '')
  const answer = await Promise.race([terminal.question('Free it? [y/N] ').catch(() => ''), closed])
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CommandError(interrupted ? ExitCode.interrupted : ExitCode.no, 'It was not freed.')
}

function table(locks: readonly LockRecord[]): string {
  if (locks.length === 0) return 'There are no locks.'
  const rows = locks.map((lock) => [
    printable(lock.name),
    state(lock),
    printable(lock.lockedBy),
    lock.lockedAt.toISOString(),
    lock.lockUntil.toISOString(),
  ])
  return columns([['NAME', 'STATE', 'LOCKED BY', 'LOCKED AT', 'LOCK UNTIL'], ...rows])
}

function details(lock: LockRecord): string {
  return columns([
    ['name', printable(lock.name)],
    ['state', state(lock)],
    ['locked by', printable(lock.lockedBy)],
    ['locked at', lock.lockedAt.toISOString()],
    ['lock until', lock.lockUntil.toISOString()],
    ['now', lock.now.toISOString()],
  ])
}

function state({ held, lockUntil, now }: LockRecord): string {
  if (!held) return 'free'
  const seconds = Math.ceil((lockUntil.getTime() - now.getTime()) / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `held, ${hours > 0 ? `${hours}h ` : ''}${hours + minutes > 0 ? `${minutes}m ` : ''}${seconds % 60}s left`
}

/** Other programs write into the table as well: what they wrote must not steer the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}')
}
