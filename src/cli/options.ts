import { InvalidArgumentError, Option, type Command } from 'commander'
import { aDuration } from '../core/internal'
import type { LockTableOptions } from '../sql/internal'
import { ExitCode } from './command-error'

interface OptionEntry {
  /** The value in brackets is one of `KINDS`, or any string. */
  readonly flags: string
  readonly says: string
  readonly required?: boolean
  readonly default?: unknown
}

/** How values are parsed, by what the help calls them. @param before what a value was so far, if the option may be repeated */
const KINDS = {
  duration: readDuration,
  time: readTime,
  port: numberUpTo(65_535),
  code: numberUpTo(255),
  text: notBlank,
  who: notBlank,
  'role=name': columnName,
  folder: (text: string, before: readonly string[] = []): readonly string[] => [...before, text],
} as const satisfies Readonly<Record<string, (text: string, before?: never) => unknown>>

const URLS =
  'postgres://…, cockroachdb://…, mysql://…, mariadb://…, file:…, libsql://…, sqlserver://…; uses the driver that your project has installed (default: DATABASE_URL of the environment, or the variable that your Prisma schema or config names)'

/** Every option of every command, each with its name in code. */
export const OPTIONS = {
  url: { flags: '--url <url>', says: URLS },
  dataSource: { flags: '-d, --data-source <file>', says: 'a file that exports your TypeORM DataSource' },
  // Not --env-file, because Node.js takes that as its own option wherever it stands.
  env: { flags: '--env <file>', says: 'read the environment from this file first, such as .env' },
  schema: { flags: '--schema <name>', says: "schema; MySQL: database (default: the connection's)" },
  tableName: { flags: '--table-name <name>', says: 'table (default: shedlock)' },
  columnNames: {
    flags: '--column-names <role=name>',
    says: 'another name for a column: name=…, lockUntil=…, lockedAt=…, lockedBy=…; may be repeated',
  },
  out: { flags: '-o, --out <file>', says: 'write to this file instead of the output' },
  down: { flags: '--down', says: 'print the SQL that removes the table' },
  dryRun: { flags: '--dry-run', says: 'print what would be written, and write nothing' },
  migrations: {
    flags: '--migrations <folder>',
    says: "where the project's migrations are, or the folder with a folder of them for each database (default: where it has others); may be repeated",
  },
  held: { flags: '--held', says: 'list only the locks that are held now' },
  json: { flags: '--json', says: 'print JSON' },
  quiet: { flags: '-q, --quiet', says: 'print errors only, for crontabs' },
  mustHaveSucceeded: { flags: '--must-have-succeeded', says: 'also find jobs not known to have succeeded' },
  runningAtMost: {
    flags: '--running-at-most <duration>',
    says: 'also find jobs that run for longer than this',
  },
  title: { flags: '--title <text>', says: 'the title of the page, such as "Shop, production"' },
  strict: { flags: '--strict', says: 'treat warnings as errors' },
  duration: {
    flags: '--duration <duration>',
    says: 'how long the pause lasts, unless resume ends it: 8h, 30m, 2d',
    required: true,
  },
  reason: { flags: '--reason <text>', says: 'why the job is paused, for others to read', required: true },
  pausedBy: { flags: '--paused-by <who>', says: 'who pauses the job (default: user@host)' },
  wait: {
    flags: '--wait <duration>',
    says: 'how long to wait while somebody else holds the lock (default: not at all)',
  },
  createTable: { flags: '--create-table', says: 'create the lock table first, unless it exists' },
  slot: {
    flags: '--slot <time>',
    says: 'when this run was due, or this release was made: the command runs once for it, and again only if it failed',
  },
  write: { flags: '--write', says: 'allow the page to pause, resume and release locks' },
  port: { flags: '--port <port>', says: 'serve on this port (default: any free port)' },
  yes: { flags: '-y, --yes', says: 'release without confirmation' },
  lockAtMostFor: {
    flags: '--lock-at-most-for <duration>',
    says: 'when the lock expires; longer than the command can run: 10m, 90s, PT1H (default with --wait: 1m, with --keep-alive)',
  },
  lockAtLeastFor: {
    flags: '--lock-at-least-for <duration>',
    says: 'how long the lock stays held at least, however short the command runs',
  },
  keepAliveAtMost: {
    flags: '--keep-alive-at-most <duration>',
    says: 'like --keep-alive, but for this long at most; then the command is stopped, and the lock expires',
  },
  keepAlive: { flags: '--keep-alive', says: 'extend the lock while the command runs' },
  abortAfter: {
    flags: '--abort-after <duration>',
    says: 'how long the command may go on after SIGTERM before the signal is passed on (default: it is passed on at once)',
  },
  skippedExitCode: {
    flags: '--skipped-exit-code <code>',
    says: 'the exit status when the command is skipped',
    default: ExitCode.skipped,
  },
} as const satisfies Readonly<Record<string, OptionEntry>>

export type OptionName = keyof typeof OPTIONS

/** The values that commander parses from these options. */
export type Flags<Name extends OptionName> = {
  readonly [Each in Name]:
    | ValueOf<(typeof OPTIONS)[Each]>
    | ((typeof OPTIONS)[Each] extends { required: true } | { default: unknown } ? never : undefined)
}

type ValueOf<Entry extends OptionEntry> = Entry extends { flags: `${string}<${infer Kind}>` }
  ? Kind extends keyof typeof KINDS
    ? ReturnType<(typeof KINDS)[Kind]>
    : string
  : boolean

export const NAME_OPTIONS = ['schema', 'tableName', 'columnNames'] as const
export type NameOption = (typeof NAME_OPTIONS)[number]

/** The options of every command that connects. */
export const CONNECTION_OPTIONS = ['url', 'dataSource', 'env', ...NAME_OPTIONS] as const
export type ConnectionOption = (typeof CONNECTION_OPTIONS)[number]

const GROUPS: readonly [string, readonly OptionName[]][] = [
  ['Names of the table (as in your code):', NAME_OPTIONS],
  ['Connection:', CONNECTION_OPTIONS],
]

export function addOptions(command: Command, ...names: readonly OptionName[]): Command {
  for (const name of names) {
    const entry: OptionEntry = OPTIONS[name]
    const option = new Option(entry.flags, entry.says)
    const [group] = GROUPS.find(([, members]) => members.includes(name)) ?? []
    if (group !== undefined) option.helpGroup(group)
    if (entry.required) option.makeOptionMandatory()
    const [, kind = ''] = /<(.*)>/.exec(entry.flags) ?? []
    if (Object.hasOwn(KINDS, kind))
      option.argParser<unknown>(KINDS[kind as keyof typeof KINDS] as (text: string) => unknown)
    if (entry.default !== undefined) option.default(entry.default)
    command.addOption(option)
  }
  return command
}

/** The flag of the option that an error is about, such as `columnNames.lockedBy`. */
export function flagOf(option = ''): string | undefined {
  const [name = ''] = option.split('.')
  return Object.hasOwn(OPTIONS, name) ? new Option(OPTIONS[name as OptionName].flags).long : undefined
}

/** Picks the flags for the table and its columns, which are the options in code. */
export function lockTableOptions(flags: Flags<NameOption>): LockTableOptions {
  const given = NAME_OPTIONS.filter((name) => flags[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, flags[name]]))
}

function columnName(
  text: string,
  before: LockTableOptions['columnNames'] = {},
): LockTableOptions['columnNames'] {
  const [, role, name] = /^(\w+)=(.*)$/s.exec(text) ?? []
  if (role === undefined) throw new InvalidArgumentError('It must be role=name, such as lockUntil=until.')
  return { ...before, [role]: name }
}

export function readDuration(text: string): string {
  try {
    aDuration(text, 'It')
    return text
  } catch (error) {
    const { message } = error as Error
    const isNone = message.includes('not a duration')
    throw new InvalidArgumentError(isNone ? 'Write a duration such as 90s, 10m, 8h, 2d or PT1H.' : message)
  }
}

function notBlank(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

function readTime(text: string): Date {
  const date = new Date(/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : NaN)
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('It must be a time with its zone, such as 2026-11-21T02:00:00Z.')
  return date
}

function numberUpTo(most: number) {
  return (text: string): number => {
    if (/^\d+$/.test(text) && Number(text) <= most) return Number(text)
    throw new InvalidArgumentError(`It must be a number from 0 to ${most}.`)
  }
}
