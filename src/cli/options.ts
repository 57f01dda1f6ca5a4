import { InvalidArgumentError, Option, type Command } from 'commander'
import { ExitCode } from './exit-code'

const CONNECTION = 'Connection:'
const NAMES = 'Names of the table (as in your code):'

interface OptionEntry {
  readonly flags: string
  readonly says: string
  /** How its value is read: where there is a unit, it has to be given. */
  readonly unit?: (text: string) => unknown
  readonly group?: string
  readonly required?: boolean
  readonly choices?: readonly string[]
  readonly default?: unknown
  /** What it is called in code, and in messages that were written for code. */
  readonly inCode?: string
}

/** Every option of every command. */
const OPTIONS = {
  url: {
    flags: '--url <url>',
    says: 'postgres://…, cockroachdb://…, mysql://…, mariadb://…, file:…, sqlserver://…, oracle://…; needs the driver of your project (default: DATABASE_URL of the environment)',
    group: CONNECTION,
  },
  dataSource: {
    flags: '-d, --data-source <file>',
    says: "file that exports your TypeORM DataSource, as TypeORM's own command line takes it",
    group: CONNECTION,
  },
  env: {
    // Not --env-file: Node.js takes that for its own, wherever it stands.
    flags: '--env <file>',
    says: 'reads the environment from this file first, such as .env',
    group: CONNECTION,
  },
  schema: {
    flags: '--schema <name>',
    says: 'schema; MySQL: database (default: the one of the connection)',
    group: NAMES,
    inCode: 'schema',
  },
  table: {
    flags: '--table <name>',
    says: 'table (default: shedlock)',
    group: NAMES,
    inCode: 'tableName',
  },
  columnName: {
    flags: '--column-name <name>',
    says: 'column of the name (default: name)',
    group: NAMES,
    inCode: 'columnNames.name',
  },
  columnLockUntil: {
    flags: '--column-lock-until <name>',
    says: 'column of the end of the lease (default: lock_until)',
    group: NAMES,
    inCode: 'columnNames.lockUntil',
  },
  columnLockedAt: {
    flags: '--column-locked-at <name>',
    says: 'column of the time of locking (default: locked_at)',
    group: NAMES,
    inCode: 'columnNames.lockedAt',
  },
  columnLockedBy: {
    flags: '--column-locked-by <name>',
    says: 'column of the owner (default: locked_by)',
    group: NAMES,
    inCode: 'columnNames.lockedBy',
  },
  out: { flags: '-o, --out <file>', says: 'write to this file instead' },
  force: { flags: '--force', says: 'overwrite an existing file' },
  down: { flags: '--down', says: 'the SQL that removes the table' },
  dbmate: { flags: '--dbmate', says: 'both ways in one file, for dbmate' },
  migration: { flags: '--migration', says: 'the migration.sql instead' },
  contract: {
    flags: '--contract',
    says: 'the model for contract.prisma of Prisma 8 instead (postgresql)',
  },
  entity: { flags: '--entity', says: 'the entity instead, for entities: […]' },
  format: {
    flags: '--format <format>',
    says: 'kind of module (default: from the name of --out, else ts)',
    choices: ['ts', 'esm', 'cjs'],
  },
  held: { flags: '--held', says: 'only those that are held now' },
  json: { flags: '--json', says: 'as JSON' },
  strict: { flags: '--strict', says: 'warnings are errors' },
  watch: { flags: '-w, --watch', says: 'go on, and show what changes' },
  for: {
    flags: '--for <duration>',
    says: 'the pause ends by itself after this long: 8h, 30m, 2d',
    unit: durationWithUnit,
    required: true,
  },
  reason: { flags: '--reason <text>', says: 'for those who wonder why it does not run', required: true },
  by: { flags: '--by <name>', says: 'who pauses it (default: user@host)' },
  wait: {
    flags: '--wait <duration>',
    says: 'how long to wait while somebody else holds the lock (default: not at all)',
    unit: durationWithUnit,
  },
  createTable: { flags: '--create-table', says: 'make the lock table first, unless it is there' },
  slot: {
    flags: '--slot <time>',
    says: 'when this was due, or this release was made: it is done once, and again only if it failed',
    unit: time,
  },
  yes: { flags: '-y, --yes', says: 'do not ask' },
  lockAtMostFor: {
    flags: '--lock-at-most-for <duration>',
    says: 'longer than the command can take: 10m, 90s, PT1H (with --wait: 1m, and --keep-alive)',
    unit: durationWithUnit,
    inCode: 'lockAtMostFor',
  },
  lockAtLeastFor: {
    flags: '--lock-at-least-for <duration>',
    says: 'how long the lock stays held, however short the command is',
    unit: durationWithUnit,
    inCode: 'lockAtLeastFor',
  },
  keepAlive: {
    flags: '--keep-alive',
    says: 'extend the lock while the command runs; --lock-at-most-for may then be short',
    inCode: 'keepAlive',
  },
  skippedExitCode: {
    flags: '--skipped-exit-code <code>',
    says: 'the exit status when it is skipped',
    unit: exitStatus,
    default: ExitCode.skipped,
  },
} as const satisfies Readonly<Record<string, OptionEntry>>

export type OptionName = keyof typeof OPTIONS

export const CONNECTION_OPTIONS = ['url', 'dataSource', 'env'] as const
export const NAME_OPTIONS = [
  ...(['schema', 'table', 'columnName', 'columnLockUntil'] as const),
  ...(['columnLockedAt', 'columnLockedBy'] as const),
]

export function addOptions(command: Command, ...names: readonly OptionName[]): Command {
  for (const name of names) {
    const entry: OptionEntry = OPTIONS[name]
    const option = new Option(entry.flags, entry.says)
    if (entry.group !== undefined) option.helpGroup(entry.group)
    if (entry.required) option.makeOptionMandatory()
    if (entry.choices) option.choices(entry.choices)
    if (entry.unit) option.argParser(entry.unit)
    if (entry.default !== undefined) option.default(entry.default)
    command.addOption(option)
  }
  return command
}

/** Says by the flag what a message that was written for code calls by its option. */
export function inFlags(message: string): string {
  const flags = Object.values<OptionEntry>(OPTIONS).flatMap(({ inCode, flags }) =>
    inCode === undefined || inCode === 'schema'
      ? []
      : [[inCode, /--[a-z-]+/.exec(flags)?.[0] ?? ''] as const],
  )
  return flags.reduce(
    (text, [inCode, flag]) => text.replace(new RegExp(`(?<![\\w.'-])${inCode}\\b(?!')`, 'g'), flag),
    message.replace(/\bschema and tableName\b/g, '--schema and tableName'),
  )
}

/** In code a number is milliseconds; at a prompt it is a mistake. */
export function durationWithUnit(text: string): string {
  if (/^\s*[\d.]+\s*$/.test(text))
    throw new InvalidArgumentError(`It has no unit – write ${text.trim()}s or ${text.trim()}m.`)
  return text
}

function time(text: string): Date {
  const date = new Date(/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : NaN)
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('It is a time with its zone, such as 2026-11-21T02:00:00Z.')
  return date
}

function exitStatus(text: string): number {
  const code = Number(text)
  if (text === '' || !Number.isInteger(code) || code < 0 || code > 255)
    throw new InvalidArgumentError('It is a number from 0 to 255.')
  return code
}
