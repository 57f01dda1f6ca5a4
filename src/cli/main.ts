#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { addCheckCommand } from './check-command'
import { addDoctorCommand } from './doctor-command'
import { addExecCommand } from './exec-command'
import { ExitCode, exitCodeOf } from './exit-code'
import { addLockCommands } from './lock-commands'
import { inFlags } from './options'
import { COMMAND, oneLine, warn } from './output'
import { addPauseCommands } from './pause-commands'
import { addPrintCommands } from './print-commands'
import { scrub } from './secrets'

const EXAMPLES = `
Examples:
  $ shedlock-orm sql postgres --out migrations/V7__shedlock.sql
  $ shedlock-orm prisma mysql >> prisma/schema.prisma
  $ shedlock-orm typeorm --out src/migrations/1735689600000-shedlock.ts
  $ shedlock-orm list --url postgres://app@localhost/app
  $ shedlock-orm release nightly-report --data-source dist/data-source.js
  $ shedlock-orm check nightly-report=25h clean-up=10m
  $ shedlock-orm pause nightly-report --for 8h --reason "migration of the archive"
  $ shedlock-orm exec nightly-report --lock-at-most-for 10m -- ./report.sh --all
  $ shedlock-orm exec migrate --wait 5m --create-table -- npx prisma migrate deploy
  $ shedlock-orm doctor                  with DATABASE_URL set; put it before a deploy

Exit status:
  0  all right
  1  no: the doctor found an error, there is no such lock, it was not released or paused, or one is overdue
  2  wrong argument, option, name or file
  3  no driver, no connection, or the database refused
  75 exec: somebody else holds the lock; 76: the lock was lost; else the command's own
`

async function main(): Promise<void> {
  const program = new Command(COMMAND)
    .description('Prints, checks and operates the lock table of shedlock-orm. Passwords are never printed.')
    .version(process.env['SHEDLOCK_VERSION'] ?? '')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({
      // A mistyped option is repeated, and may have a password in it.
      writeErr: (text) => process.stderr.write(scrub(text)),
    })
  addPrintCommands(program)
  addLockCommands(program)
  addCheckCommand(program)
  addPauseCommands(program)
  addDoctorCommand(program)
  addExecCommand(program)
  try {
    await program.parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? ExitCode.ok : ExitCode.usage
      return
    }
    warn(`${COMMAND}: ${inFlags(oneLine(error))}`)
    process.exitCode = exitCodeOf(error)
  }
}

void main()
