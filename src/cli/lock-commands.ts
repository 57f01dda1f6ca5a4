import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { details, holding, table } from './describe-lock'
import { CommandError, ExitCode } from './exit-code'
import { findLock } from './find-lock'
import { addOptions } from './options'
import { COMMAND, print, printJson } from './output'
import { watchLocks } from './watch-locks'

interface ReadFlags extends ConnectionFlags {
  readonly json?: boolean
}

interface ListFlags extends ReadFlags {
  readonly held?: boolean
  readonly watch?: boolean
}

export function addLockCommands(program: Command): void {
  const list = program
    .command('list')
    .summary('list the locks: who holds what, since when, until when')
    .description(
      'Lists the locks, in UTC and by the clock of the database. With --watch it goes on until Ctrl-C: a table on a terminal, elsewhere a line for each change.',
    )
  addOptions(list, 'held', 'json', 'watch')
  addConnectionOptions(list).action((flags: ListFlags) =>
    withConnection(flags, async ({ provider }) => {
      const read = async () => (await provider.listLocks()).filter(({ held }) => held || !flags.held)
      if (flags.watch) await watchLocks(read, flags.json)
      else if (flags.json) printJson(await read())
      else print(table(await read()))
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
      const lock = await findLock(provider, name)
      if (flags.json) printJson(lock)
      else print(details(lock))
    }),
  )

  const release = program
    .command('release')
    .argument('<name>', 'the name of the lock')
    .summary('release a lock whose holder is gone')
    .description(
      'Shows who holds the lock, asks, and frees it – only if the same owner still holds it. A holder that is alive is not stopped: somebody else may then run beside it. A lock that is paused is freed by resume. Exit status 1 if the lock was not freed.',
    )
  addOptions(release, 'yes')
  addConnectionOptions(release).action((name: string, flags: ConnectionFlags & { yes?: boolean }) =>
    withConnection(flags, async ({ provider }) => {
      const lock = await findLock(provider, name)
      print(details(lock))
      if (!lock.held) {
        print('It is free already.')
        return
      }
      if (lock.paused)
        throw new CommandError(ExitCode.no, `${holding(lock)} – end that by: ${COMMAND} resume ${name}`)
      if (!flags.yes) await confirm()
      if (!(await provider.releaseLock(name, lock.lockedBy)))
        throw new CommandError(ExitCode.no, `Lock '${name}' was not released: this owner no longer holds it.`)
      print('It is free now.')
    }),
  )
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY)
    throw new CommandError(
      ExitCode.usage,
      'This is not a terminal, so nobody can answer – give --yes to release it anyway.',
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let interrupted = false as boolean
  terminal.once('SIGINT', () => {
    interrupted = true
    terminal.close()
  })
  // Ctrl-D closes it as well.
  const closed = once(terminal, 'close').then(() => '')
  const answer = await Promise.race([terminal.question('Release it? [y/N] ').catch(() => ''), closed])
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CommandError(interrupted ? ExitCode.interrupted : ExitCode.no, 'It was not released.')
}
