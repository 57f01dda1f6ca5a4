import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { LockError } from '../src/core/errors'
import { createShedLockMigration } from '../src/typeorm/migration'
import { typeOrmLockProvider } from '../src/typeorm/typeorm-lock-provider'
import { observeLockTable } from '../test/conformance/lock-table-observer'
import { createDatabase, wantedServers, type ServerName } from './own-database'

// Sets each variable of a session that the database's own catalogue lists to other values, as an app may leave it in a pooled
// connection, and lets that connection acquire, extend and release locks beside a second holder. No setting of a session may
// make two holders, change a time, leave a call without an answer, or stop the event loop. Prints what mattered, and fails if
// something went wrong: `npm run session-variables [part of a variable's name …]`, with BACKENDS and the servers' URLs as for the tests.

interface Setting {
  readonly name: string
  readonly value: string
  /** Sets it. */
  readonly statement: string
}

interface Variable {
  readonly name: string
  readonly value: string | null
  readonly type: string | null
  readonly choices?: string | null
  readonly least?: string | null
}

const LIMIT = 2_000
const LEASE = 60_000
/** Variables with values of their own. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  search_path: ['pg_temp', 'other'],
  timezone: ['America/New_York'],
  time_zone: ['+11:00'],
  timestamp: ['1700000000'],
  datestyle: ['German, DMY'],
  client_encoding: ['SQL_ASCII', 'LATIN1'],
  sql_mode: ['ANSI', 'NO_BACKSLASH_ESCAPES', 'PAD_CHAR_TO_FULL_LENGTH', 'ORACLE', ''],
  journal_mode: ['delete', 'memory', 'off', 'wal'],
}
/** They apply to the whole process, to the file for good, or keep every other connection out of the file. */
const OF_THE_PROCESS =
  /heap_limit|^(encoding|locking_mode|writable_schema|journal_size_limit|page_size|user_version|application_id|schema_version)$/

function valuesOf({ name, value, type, choices, least }: Variable): string[] {
  const known = VALUES[name.toLowerCase()]
  if (known) return [...known]
  const candidates = choices?.split(',') ?? (/^(on|off|yes|no)$/i.test(value ?? '') ? ['ON', 'OFF'] : [])
  if (candidates.length > 0) return candidates.filter((one) => one !== value).slice(0, 3)
  const isNumber = /int|real|double/i.test(type ?? '') || /^-?\d+(\.\d+)?$/.test(value ?? '')
  return isNumber ? [...new Set([least ?? '0', '1'])].filter((one) => one !== value) : ['', 'x']
}

const quoted = (value: string): string =>
  /^-?\d+(\.\d+)?$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`

/** Lists the variables of a session, from the catalogue of the database. */
async function settingsOf(observer: DataSource, dialect: Dialect): Promise<Setting[]> {
  const list = async (query: string): Promise<Variable[]> => observer.query<Variable[]>(query)
  if (dialect === 'postgres') {
    const variables = await list(`select name, setting as value, vartype as type, min_val as least,
      array_to_string(enumvals, ',') as choices from pg_settings where context in ('user', 'superuser') order by name`)
    const readOnly = 'set session characteristics as transaction read only'
    return [
      ...settingsWith(variables, (name, value) => `set ${name} = '${value}'`),
      ...['begin', 'begin isolation level serializable', readOnly].map(bare),
    ]
  }
  if (dialect === 'sqlite') {
    const variables = await list(
      'select name, null as value, null as type from pragma_pragma_list order by name',
    )
    return variables
      .filter(({ name }) => !OF_THE_PROCESS.test(name))
      .flatMap(({ name }) =>
        (VALUES[name] ?? ['0', '1']).map((value) => ({ name, value, statement: `${name} = ${value}` })),
      )
  }
  const variables = await list(
    dialect === 'mariadb'
      ? `select lower(variable_name) as name, session_value as value, variable_type as type, enum_value_list as choices,
          numeric_min_value as least from information_schema.system_variables
        where variable_scope like 'SESSION%' and read_only = 'NO' order by 1`
      : `select lower(variable_name) as name, variable_value as value, '' as type from performance_schema.session_variables order by 1`,
  )
  return [
    ...settingsWith(variables, (name, value) => `set session ${name} = ${quoted(value)}`),
    ...['begin', 'set names binary', 'set names latin1'].map(bare),
  ]
}

function settingsWith(
  variables: readonly Variable[],
  statement: (name: string, value: string) => string,
): Setting[] {
  return variables.flatMap((variable) =>
    valuesOf(variable).map((value) => {
      const { name } = variable
      return { name, value, statement: statement(name, value) }
    }),
  )
}

const bare = (statement: string): Setting => ({ name: statement, value: '', statement })

type Outcome = 'not settable' | 'no matter' | 'refused' | 'WRONG'

type Dialect = ServerName | 'sqlite'

interface OwnDatabase {
  readonly options: DataSourceOptions
  readonly observer: DataSource
  readonly drop: () => Promise<unknown>
}

/** Creates a database of its own, with a lock table. */
async function create(dialect: Dialect): Promise<OwnDatabase> {
  if (dialect !== 'sqlite') {
    const own = await createDatabase(dialect)
    const options = { type: dialect, url: own.url.href } as const
    return { options, observer: own.observer, drop: () => own.drop() }
  }
  const directory = mkdtempSync(join(tmpdir(), 'shedlock-'))
  const options = { type: 'better-sqlite3', database: join(directory, 'app.db') } as const
  const migrations = [createShedLockMigration()]
  const observer = await new DataSource({ ...options, migrations, migrationsRun: true }).initialize()
  const drop = async (): Promise<void> => {
    await observer.destroy()
    await rm(directory, { recursive: true })
  }
  return { options, observer, drop }
}

async function tryOut(dialect: Dialect): Promise<void> {
  const { options, observer, drop } = await create(dialect)
  const table = observeLockTable(observer, dialect)
  const holder = typeOrmLockProvider(observer, { timeLimit: '30s', ownConnections: 0 })
  const parts = process.argv.slice(2)
  const all = await settingsOf(observer, dialect)
  const settings = all.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)))
  const counts = new Map<Outcome, number>()
  const isSqlite = dialect === 'sqlite'
  for (const [index, { name, value, statement }] of settings.entries()) {
    const job = { name: `job-${index}`, lockAtMostFor: LEASE }
    const held = await holder.lock({ ...job, name: `held-${index}` })
    const prepareDatabase = (opened: { pragma(text: string): unknown }): void => void opened.pragma(statement)
    const app = new DataSource({
      ...options,
      poolSize: 1,
      ...(isSqlite && { prepareDatabase }),
    } as DataSourceOptions)
    const wrong: string[] = []
    const refusals = new Set<string>()
    const run = async <T>(what: string, step: () => Promise<T> | undefined): Promise<T | undefined> => {
      const delay = monitorEventLoopDelay()
      delay.enable()
      try {
        const silence = sleep(3 * LIMIT, 'silence', { ref: false })
        const result = await Promise.race([step(), silence])
        if (result !== 'silence') return result as T | undefined
        wrong.push(`${what}: no answer`)
      } catch (error) {
        if (error instanceof LockError) refusals.add(`${what}: ${error.code}: ${error.message}`)
        else wrong.push(`${what}: ${String(error)}`)
      } finally {
        const longest = Math.round(delay.max / 1e6)
        delay.disable()
        if (longest > LIMIT / 2) wrong.push(`${what}: the event loop stood still for ${longest} ms`)
      }
      return undefined
    }
    let outcome: Outcome = 'no matter'
    try {
      await app.initialize()
      if (!isSqlite) await app.query(statement)
    } catch {
      outcome = 'not settable'
    }
    if (outcome !== 'not settable') {
      const provider = typeOrmLockProvider(app, { timeLimit: LIMIT, ownConnections: 0 })
      if (await run('a lock that is held', () => provider.lock({ ...job, name: `held-${index}` })))
        wrong.push('two holders')
      for (const slot of [undefined, 1_700_000_000_000 + index]) {
        const own = { ...job, name: `${job.name}-${slot ?? ''}`, slot }
        const lock = await run('lock', () => provider.lock(own))
        if (!lock && refusals.size === 0) wrong.push('a free lock was called held')
        if (!lock) continue
        if (await holder.lock({ ...own, slot: undefined })) wrong.push('two holders')
        const check = async (what: string, least: number): Promise<void> => {
          const row = await table.findRow(own.name)
          const left = (row?.lockUntil ?? 0) - (await table.clock())
          if (left < least - 3_000 || left > least + 1_000)
            wrong.push(`${what}: ${left} ms are left instead of ${least}`)
        }
        await check('lock', LEASE)
        const extended = await run('extend', async () => lock.extend(2 * LEASE).then(() => true))
        if (extended) await check('extend', 2 * LEASE)
        await run('unlock', () => lock.unlock())
        await run('drain', () => provider.drain(LIMIT))
        if (refusals.size === 0 && !(await holder.lock({ ...own, slot: undefined })))
          wrong.push('it was not released')
      }
      if (refusals.size > 0) outcome = 'refused'
      if (wrong.length > 0) outcome = 'WRONG'
      if (outcome !== 'no matter')
        console.log(`${dialect}: ${name} = ${value}: ${outcome}: ${[...wrong, ...refusals].join('; ')}`)
    }
    if (wrong.length > 0) process.exitCode = 1
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    await held?.unlock().catch(() => undefined)
    if (app.isInitialized) await app.destroy().catch(() => undefined)
  }
  const variables = new Set(settings.map(({ name }) => name)).size
  console.log(`${dialect}: ${variables} variables, ${settings.length} values:`, Object.fromEntries(counts))
  await drop()
}

async function main(): Promise<void> {
  const wanted = process.env['BACKENDS']?.split(',') ?? ['sqlite']
  if (wanted.includes('sqlite')) await tryOut('sqlite')
  for (const server of wantedServers()) await tryOut(server)
}

void main()
