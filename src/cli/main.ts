#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { LockError } from '../core/internal'
import { addDoctorCommand } from './doctor'
import { addExecCommand } from './exec-command'
import { ExitCode, exitCodeOf, scrub } from './command-error'
import { addInitCommand } from './init/init-command'
import { addLockCommands } from './lock-commands'
import { addOperateCommands } from './operate-commands'
import { flagOf } from './options'
import { COMMAND, oneLine, warn } from './output'
import { addSqlCommand } from './sql-command'
import { addWebCommand } from './web-command'

const EXAMPLES = `
Examples:
  $ shedlock-orm init       writes the migration into your project
  $ shedlock-orm sql postgres --out migrations/V7__shedlock.sql
  $ shedlock-orm list --url postgres://app@localhost/app
  $ shedlock-orm pause nightly-report --duration 8h --reason "migration of the archive"
  $ shedlock-orm exec nightly-report --lock-at-most-for 10m -- ./report.sh --all
  $ shedlock-orm doctor     with DATABASE_URL set; run it before each deploy

Exit status:
  0  all is well
  1  the answer is no: doctor found an error; a lock does not exist, is
     overdue, or was not released, paused or resumed
  2  an argument, an option, a name or a file is wrong
  3  there is no driver or no connection, the database refused, or the output
     could not be written
  75 exec: somebody else held the lock; 76: the lock was lost; otherwise the
     status of the command
`

const UNLOCK = '(To release a lock whose holder is gone, use release.)\n'

async function main(): Promise<void> {
  const program = new Command(COMMAND)
    .description(
      'Writes the migration of the lock table, checks the table, and operates its locks. Never prints passwords.',
    )
    .version(process.env['SHEDLOCK_VERSION'] ?? '')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({
      // The message repeats a mistyped option, which may contain a password.
      writeErr: (text) => process.stderr.write(scrub(text)),
      outputError: (text, write) => {
        write(text.includes("unknown command 'unlock'") ? `${text}${UNLOCK}` : text)
      },
    })
  // A full disk, a terminal that is gone or `| head` must end neither a command that holds a lock nor an answer by exit status.
  process.stderr.on('error', () => undefined)
  let unwritten: NodeJS.ErrnoException | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => (unwritten = error))
  addInitCommand(program)
  addSqlCommand(program)
  addLockCommands(program)
  addOperateCommands(program)
  addDoctorCommand(program)
  addExecCommand(program)
  addWebCommand(program)
  try {
    await program.parseAsync()
  } catch (error) {
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? ExitCode.ok : ExitCode.usage
    else {
      const flag = error instanceof LockError ? flagOf(error.option) : undefined
      warn(flag === undefined ? oneLine(error) : `${flag}: ${oneLine(error)}`)
      process.exitCode = exitCodeOf(error)
    }
  }
  await flush(process.stdout)
  // A reader that has gone has read enough.
  if (unwritten && unwritten.code !== 'EPIPE') {
    warn(`The output could not be written: ${oneLine(unwritten)}`)
    process.exitCode = ExitCode.database
  }
  await flush(process.stderr)
  // End the process even if a driver still waits for something.
  process.exit()
}

/** Waits for what is left to write, and for the errors of what was. Where nothing was, even an empty write could fail. */
async function flush(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
  await new Promise((resolve) => setImmediate(resolve))
}

void main()
