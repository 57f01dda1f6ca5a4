import { once } from 'node:events'
import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { parseWait, poll } from '../core/internal'
import { jobView, wasAcquired, type LockRecord } from '../sql/internal'
import { refusal, wrongUsage } from './command-error'
import { announce, onDatabase } from './connect'
import { existingLock, sentence, show, stateOf } from './describe-lock'
import { commandOn, print, warn } from './output'

const LOCK_NAME = 'the name of the lock'
// Nobody repeats a run, and `list` calls its job idle.
const RELEASED = 'The lock was released. If its work is not done, run it now.'
const RESUMED = 'The pause has ended. If the job was due meanwhile, run it now.'

/** Adds the commands that change a lock. Each prints first which table that is. */
export function addOperateCommands(program: Command): void {
  const pause = program
    .command('pause')
    .argument('<name>', LOCK_NAME)
    .summary('keep a job from running, on every instance, until a time or until resume')
    .description(
      'Acquires the lock without a run, so that every instance skips the job, those of Java services too. The pause ends with resume, or after --duration. While a run is in progress the job cannot be paused: --wait waits for the end of that run. Exit status 1 if the job was not paused.',
    )
  const options = ['duration', 'reason', 'pausedBy', 'wait', 'json'] as const
  onDatabase(pause, options, async (connection, flags, name: string) => {
    const { provider } = connection
    const place = await announce(connection)
    const { pausedBy = whoAmI(), duration, reason, wait, json } = flags
    let before: LockRecord | undefined
    const attempt = async (): Promise<boolean> => {
      before = await provider.table.find(name)
      // Otherwise a run that ends after this reading would be overwritten unread.
      if (wait !== undefined && before?.held) return false
      return provider.table.pause(name, { duration, reason, pausedBy })
    }
    const paused = await poll(attempt, Boolean, parseWait(wait ?? 0, 'wait'))
    const lock = await existingLock(provider, name)
    if (!paused) throw refusal(`${stateOf(lock)} – it was not paused.${advice(lock)}`)
    show(lock, json, place)
    if (before) warn(`Before the pause: ${sentence(jobView(name, before))}`)
    if (!wasAcquired(lock)) warn(`Lock '${lock.name}' has never been acquired – check the name of the job.`)
  })

  const resume = program
    .command('resume')
    .argument('<name>', LOCK_NAME)
    .summary('end the pause of a job')
    .description('Ends the pause of a job, no matter who paused it. Exit status 1 if it is not paused.')
  onDatabase(resume, ['json'], async (connection, flags, name: string) => {
    const { provider } = connection
    const place = await announce(connection)
    const lock = await existingLock(provider, name)
    if (!(await provider.table.resume(name))) throw refusal(`${stateOf(lock)} – it is not paused.`)
    if (flags.json) show(await existingLock(provider, name), true, place)
    else print(RESUMED)
  })

  const release = program
    .command('release')
    .argument('<name>', LOCK_NAME)
    .summary('release a lock whose holder is gone')
    .description(
      'Shows who holds the lock, asks for confirmation, and releases the lock if it has not changed since. A holder that is alive is not stopped, and another instance may then run the job at the same time. To end a pause, use resume. Exit status 1 if the lock was not released.',
    )
  onDatabase(release, ['yes', 'json'], async (connection, flags, name: string) => {
    const { provider } = connection
    const place = await announce(connection)
    const lock = await existingLock(provider, name)
    if (!flags.json) show(lock)
    if (lock.paused) throw refusal(`${stateOf(lock)} – end the pause with: ${commandOn('resume', lock.name)}`)
    if (lock.held && !flags.yes) await confirm()
    if (lock.held && !(await provider.table.release(lock)))
      throw refusal(
        `Lock '${lock.name}' was not released, because it has changed since it was shown – run the command again.`,
      )
    if (flags.json) show(await existingLock(provider, name), true, place)
    else print(lock.held ? RELEASED : 'Nobody holds the lock.')
  })
}

function advice({ held, paused }: LockRecord): string {
  if (!held) return ' It was held a moment ago: run the command again.'
  return paused
    ? ' To pause it for longer, resume it first.'
    : ' With --wait 5m this command waits until the lock is free.'
}

/** Identifies the person at this terminal to people who read the table. */
export function whoAmI(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    // In a container the user may have no name.
    return hostname()
  }
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY)
    throw wrongUsage(
      'This is not a terminal, so nobody can confirm – set --yes to release the lock without confirmation.',
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // As Ctrl-C and Ctrl-D do.
  const closed = once(terminal, 'close').then(() => '')
  const answer = await Promise.race([terminal.question('Release the lock? [y/N] ').catch(() => ''), closed])
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw refusal('The lock was not released.')
}
