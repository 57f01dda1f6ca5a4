import type { Command } from 'commander'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { diagnose, type Diagnosis } from './doctor'
import { ExitCode } from './exit-code'
import { addOptions, inFlags } from './options'
import { print, printJson } from './output'

interface DoctorFlags extends ConnectionFlags {
  readonly json?: boolean
  readonly strict?: boolean
}

export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .summary('find what is wrong with the table or the connection, and print the SQL that fixes it')
    .description(
      'Checks the table (columns, types, lengths, key, case of names), the privileges of this user, the clocks of this host and the database, settings that matter, and whether a pooler is in between. Changes nothing: it prints the SQL that fixes what is wrong. Stop the jobs before you run that. Exit status 1 if there is an error: a gate for deploys.',
    )
  addOptions(doctor, 'strict', 'json')
  addConnectionOptions(doctor).action((flags: DoctorFlags) =>
    withConnection(flags, async (connection) => {
      const found = await diagnose(connection)
      const findings = found.map((finding) => ({ ...finding, message: inFlags(finding.message) }))
      if (flags.json) printJson(findings)
      else print(report(findings))
      const bad = findings.some(
        ({ severity }) => severity === 'error' || (flags.strict && severity === 'warning'),
      )
      process.exitCode = bad ? ExitCode.no : ExitCode.ok
    }),
  )
}

function report(findings: readonly Diagnosis[]): string {
  const lines = findings.flatMap(({ severity, check, message, fix }) => [
    `${severity.padEnd(8)} ${check}: ${message}`,
    ...fix.map((statement) => `${statement};`.replace(/^/gm, '           ')),
  ])
  const count = (severity: Diagnosis['severity']): string => {
    const number = findings.filter((finding) => finding.severity === severity).length
    return `${number} ${severity}${number === 1 ? '' : 's'}`
  }
  return [...lines, '', `${count('error')}, ${count('warning')}`].join('\n')
}
