import { Option, type Command } from 'commander'
import { ExitCode } from './command-error'
import { durationWithUnit, exitStatus, notBlank, port, positiveDuration, time } from './flag-values'

interface OptionEntry {
  readonly flags: string
  readonly says: string
  /** How its value is read: where there is a unit, it has to be given. */
  readonly read?: (text: string) => unknown
  readonly required?: boolean
  readonly choices?: readonly string[]
  readonly default?: unknown
}

const URLS =
  'postgres://…, cockroachdb://…, mysql://…, mariadb://…, file:…, sqlserver://…, oracle://…; needs the driver of your project (default: DATABASE_URL of the environment)'

/** Every option of every command. */
const OPTIONS = {
  url: { flags: '--url <url>', says: URLS },
  dataSource: { flags: '-d, --data-source <file>', says: 'a file that exports your TypeORM DataSource' },
  // Not --env-file: Node.js takes that for its own, wherever it stands.
  env: { flags: '--env <file>', says: 'reads the environment from this file first, such as .env' },
  schema: { flags: '--schema <name>', says: "schema; MySQL: database (default: the connection's)" },
  table: { flags: '--table <name>', says: 'table (default: shedlock)' },
  columnName: { flags: '--column-name <name>', says: 'column of the name (default: name)' },
  columnLockUntil: { flags: '--column-lock-until <name>', says: 'column of the end (default: lock_until)' },
  columnLockedAt: {
    flags: '--column-locked-at <name>',
    says: 'column of the beginning (default: locked_at)',
  },
  columnLockedBy: { flags: '--column-locked-by <name>', says: 'column of the owner (default: locked_by)' },
  out: { flags: '-o, --out <file>', says: 'write to this file instead' },
  force: { flags: '--force', says: 'overwrite an existing file' },
  down: { flags: '--down', says: 'the SQL that removes the table' },
  dbmate: { flags: '--dbmate', says: 'both ways in one file, for dbmate' },
  migration: { flags: '--migration', says: 'the migration.sql instead' },
  contract: { flags: '--contract', says: 'the model for contract.prisma of Prisma 8 instead (postgresql)' },
  entity: { flags: '--entity', says: 'the entity instead, for entities: […]' },
  format: {
    flags: '--format <format>',
    says: 'kind of module (default: as --out ends, else ts)',
    choices: ['ts', 'esm', 'cjs'],
  },
  held: { flags: '--held', says: 'only those that are held now' },
  json: { flags: '--json', says: 'as JSON' },
  quiet: { flags: '-q, --quiet', says: 'say nothing but errors, as crontabs want it' },
  succeeded: { flags: '--succeeded', says: 'also those whose last run is not known to have succeeded' },
  runningAtMost: {
    flags: '--running-at-most <duration>',
    says: 'also those whose run goes on for longer',
    read: positiveDuration,
  },
  strict: { flags: '--strict', says: 'warnings are errors' },
  watch: { flags: '-w, --watch', says: 'go on, and show what changes' },
  for: {
    flags: '--for <duration>',
    says: 'the pause ends by itself after this: 8h, 30m, 2d',
    read: positiveDuration,
    required: true,
  },
  reason: {
    flags: '--reason <text>',
    says: 'for those who wonder why it does not run',
    read: notBlank,
    required: true,
  },
  by: { flags: '--by <name>', says: 'who pauses it (default: user@host)' },
  wait: {
    flags: '--wait <duration>',
    says: 'how long to wait while somebody else holds the lock (default: not at all)',
    read: durationWithUnit,
  },
  createTable: { flags: '--create-table', says: 'make the lock table first, unless it is there' },
  slot: {
    flags: '--slot <time>',
    says: 'when this was due, or this release was made: it is done once, and again only if it failed',
    read: time,
  },
  write: { flags: '--write', says: 'locks may be paused, resumed and released there' },
  port: { flags: '--port <number>', says: 'on this port (default: one that is free)', read: port },
  yes: { flags: '-y, --yes', says: 'do not ask' },
  lockAtMostFor: {
    flags: '--lock-at-most-for <duration>',
    says: 'longer than the command can take: 10m, 90s, PT1H (with --wait: 1m, and --keep-alive)',
    read: durationWithUnit,
  },
  lockAtLeastFor: {
    flags: '--lock-at-least-for <duration>',
    says: 'how long the lock stays held, however short the command is',
    read: durationWithUnit,
  },
  keepAliveAtMost: {
    flags: '--keep-alive-at-most <duration>',
    says: 'as --keep-alive, for this long at most; then the command is stopped, and the lock expires',
    read: durationWithUnit,
  },
  keepAlive: { flags: '--keep-alive', says: 'extend the lock while the command runs' },
  skippedExitCode: {
    flags: '--skipped-exit-code <code>',
    says: 'the exit status when it is skipped',
    read: exitStatus,
    default: ExitCode.skipped,
  },
} as const satisfies Readonly<Record<string, OptionEntry>>

export type OptionName = keyof typeof OPTIONS

export const CONNECTION_OPTIONS = ['url', 'dataSource', 'env'] as const
export const NAME_OPTIONS = [
  ...(['schema', 'table', 'columnName', 'columnLockUntil'] as const),
  ...(['columnLockedAt', 'columnLockedBy'] as const),
]
const GROUPS: readonly [string, readonly OptionName[]][] = [
  ['Connection:', CONNECTION_OPTIONS],
  ['Names of the table (as in your code):', NAME_OPTIONS],
]

/** What code calls by these names, a command line calls by flags. */
const IN_CODE: Readonly<Record<string, OptionName>> = {
  'columnNames.name': 'columnName',
  'columnNames.lockUntil': 'columnLockUntil',
  'columnNames.lockedAt': 'columnLockedAt',
  'columnNames.lockedBy': 'columnLockedBy',
  'keepAlive.atMost': 'keepAliveAtMost',
  keepAlive: 'keepAlive',
  lockAtLeastFor: 'lockAtLeastFor',
  lockAtMostFor: 'lockAtMostFor',
  'schema and': 'schema',
  tableName: 'table',
}

export function addOptions(command: Command, ...names: readonly OptionName[]): Command {
  for (const name of names) {
    const entry: OptionEntry = OPTIONS[name]
    const option = new Option(entry.flags, entry.says)
    const [group] = GROUPS.find(([, members]) => members.includes(name)) ?? []
    if (group !== undefined) option.helpGroup(group)
    if (entry.required) option.makeOptionMandatory()
    if (entry.choices) option.choices(entry.choices)
    if (entry.read) option.argParser(entry.read)
    if (entry.default !== undefined) option.default(entry.default)
    command.addOption(option)
  }
  return command
}

/** Says by the flag what a message that was written for code calls by its option. */
export function inFlags(message: string): string {
  return Object.entries(IN_CODE).reduce((text, [inCode, name]) => {
    const flag = `${/--[a-z-]+/.exec(OPTIONS[name].flags)?.[0] ?? ''}${inCode.endsWith(' and') ? ' and' : ''}`
    return text.replace(new RegExp(`(?<![\\w.'-])${inCode}\\b(?!')`, 'g'), flag)
  }, message)
}
