import { InvalidArgumentError, Option, type Command } from 'commander'
import { aDuration } from '../core/internal'
import type { LockTableOptions } from '../sql/internal'
import { ExitCode } from './command-error'

/** What it is for; what the help calls its value, which is one of `KINDS` or any string, unless it takes none; what else matters. */
type OptionEntry = readonly [
  says: string,
  takes?: string,
  more?: { readonly short?: string; readonly required?: boolean; readonly default?: unknown },
]

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

/** Every option of every command by its name in code: `tableName` is `--table-name`. */
export const OPTIONS = {
  url: [URLS, 'url'],
  dataSource: ['a file that exports your TypeORM DataSource', 'file', { short: 'd' }],
  // Not --env-file, because Node.js takes that as its own option wherever it stands.
  env: ['read the environment from this file first, such as .env', 'file'],
  schema: ["schema; MySQL: database (default: the connection's)", 'name'],
  tableName: ['table (default: shedlock)', 'name'],
  columnNames: [
    'another name for a column: name=…, lockUntil=…, lockedAt=…, lockedBy=…; may be repeated',
    'role=name',
  ],
  out: ['write to this file instead of the output', 'file', { short: 'o' }],
  down: ['print the SQL that removes the table'],
  dryRun: ['print what would be written, and write nothing'],
  migrations: [
    "where the project's migrations are, or the folder with a folder of them for each database (default: where it has others); may be repeated",
    'folder',
  ],
  held: ['list only the locks that are held now'],
  json: ['print JSON'],
  quiet: ['print errors only, for crontabs', '', { short: 'q' }],
  mustHaveSucceeded: ['also find jobs not known to have succeeded'],
  runningAtMost: ['also find jobs that run for longer than this', 'duration'],
  title: ['the title of the page, such as "Shop, production"', 'text'],
  strict: ['treat warnings as errors'],
  duration: ['how long the pause lasts, unless resume ends it: 8h, 30m, 2d', 'duration', { required: true }],
  reason: ['why the job is paused, for others to read', 'text', { required: true }],
  pausedBy: ['who pauses the job (default: user@host)', 'who'],
  wait: ['how long to wait while somebody else holds the lock (default: not at all)', 'duration'],
  createTable: ['create the lock table first, unless it exists'],
  slot: [
    'when this run was due, or this release was made: the command runs once for it, and again only if it failed',
    'time',
  ],
  write: ['allow the page to pause, resume and release locks'],
  port: ['serve on this port (default: any free port)', 'port'],
  yes: ['release without confirmation', '', { short: 'y' }],
  lockAtMostFor: [
    'when the lock expires; longer than the command can run: 10m, 90s, PT1H (default with --wait: 1m, with --keep-alive)',
    'duration',
  ],
  lockAtLeastFor: ['how long the lock stays held at least, however short the command runs', 'duration'],
  keepAliveAtMost: [
    'like --keep-alive, but for this long at most; then the command is stopped, and the lock expires',
    'duration',
  ],
  keepAlive: ['extend the lock while the command runs'],
  abortAfter: [
    'how long the command may go on after SIGTERM before the signal is passed on (default: it is passed on at once)',
    'duration',
  ],
  skippedExitCode: ['the exit status when the command is skipped', 'code', { default: ExitCode.skipped }],
} as const satisfies Readonly<Record<string, OptionEntry>>

export type OptionName = keyof typeof OPTIONS

/** The values that commander parses from these options. */
export type Flags<Name extends OptionName> = {
  readonly [Each in Name]:
    | ValueOf<(typeof OPTIONS)[Each][1]>
    | ((typeof OPTIONS)[Each][2] extends { required: true } | { default: unknown } ? never : undefined)
}

type ValueOf<Takes> = Takes extends '' | undefined
  ? boolean
  : Takes extends keyof typeof KINDS
    ? ReturnType<(typeof KINDS)[Takes]>
    : string

export const NAME_OPTIONS = ['schema', 'tableName', 'columnNames'] as const

/** The options of every command that connects. */
export const CONNECTION_OPTIONS = ['url', 'dataSource', 'env', ...NAME_OPTIONS] as const
export type ConnectionOption = (typeof CONNECTION_OPTIONS)[number]

export function addOptions(command: Command, ...names: readonly OptionName[]): Command {
  for (const name of names) {
    const [says, takes = '', { short, required = false, default: usual } = {}]: OptionEntry = OPTIONS[name]
    const flags = `${short === undefined ? '' : `-${short}, `}${longFlag(name)}${takes && ` <${takes}>`}`
    const option = new Option(flags, says).makeOptionMandatory(required).default(usual)
    if (Object.hasOwn(KINDS, takes))
      option.argParser<unknown>(KINDS[takes as keyof typeof KINDS] as (text: string) => unknown)
    // The options of the connection are the last ones.
    if (name === 'url') command.optionsGroup('Connection:')
    command.addOption(option)
  }
  return command
}

function longFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The flag of the option that an error is about, such as `columnNames.lockedBy`. */
export function flagOf(option = ''): string | undefined {
  const [name = ''] = option.split('.')
  return Object.hasOwn(OPTIONS, name) ? longFlag(name) : undefined
}

/** Picks the flags for the table and its columns, which are the options in code. */
export function lockTableOptions(flags: Flags<(typeof NAME_OPTIONS)[number]>): LockTableOptions {
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
