import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { RunRaw } from './raw-clients'

/**
 * What a server does meanwhile: each begins to count, and gives what there is to count it to. Counts the whole server, so
 * nothing else may use it.
 */
export interface ServerCounters {
  /** Bytes of write-ahead or redo log. */
  readonly log: () => Promise<() => Promise<number>>
  /** Microseconds on a processor, if the server runs on this machine. */
  readonly cpu: () => Promise<() => Promise<number>>
}

export function postgresCounters(query: RunRaw): ServerCounters {
  const position = `select (pg_current_wal_insert_lsn() - '0/0')::float8 as value`
  const backends = `select pid as value from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  return {
    log: () => since(async () => Number((await values(query, position))[0])),
    cpu: () => since(async () => sum((await values(query, backends)).map((pid) => `/proc/${String(pid)}`))),
  }
}

/** @param schema where this server keeps its status */
export function mysqlLikeCounters(
  query: RunRaw,
  schema: 'information_schema' | 'performance_schema',
): ServerCounters {
  // The first is MariaDB's name, the second MySQL's.
  const position = `select variable_value as value from ${schema}.global_status where lower(variable_name) in ('innodb_lsn_current', 'innodb_redo_log_current_lsn')`
  return {
    log: () => since(async () => Number((await values(query, position))[0])),
    cpu: () =>
      since(async () => {
        const file = String((await values(query, 'select @@pid_file as value'))[0])
        const threads = `/proc/${readFileSync(file, 'utf8').trim()}/task`
        return sum(readdirSync(threads).map((thread) => `${threads}/${thread}`))
      }),
  }
}

/** There is no server: its work is the client's. */
export function sqliteCounters(file: string, query: RunRaw): ServerCounters {
  return {
    log: async () => {
      await query('pragma wal_checkpoint(truncate)', [])
      return () => Promise.resolve(statSync(`${file}-wal`).size)
    },
    cpu: () => Promise.resolve(() => Promise.resolve(NaN)),
  }
}

async function since(read: () => Promise<number>): Promise<() => Promise<number>> {
  const before = await read()
  return async () => (await read()) - before
}

/** Nanoseconds on a processor are the first number: https://docs.kernel.org/scheduler/sched-stats.html */
function sum(processes: readonly string[]): number {
  return processes.reduce((total, folder) => {
    try {
      return total + Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ', 1)[0]) / 1000
    } catch {
      return NaN
    }
  }, 0)
}

/** pg answers `{ rows }`, mysql2 `[rows, fields]`. */
async function values(query: RunRaw, text: string): Promise<unknown[]> {
  const result = (await query(text, [])) as { rows: { value: unknown }[] } | [{ value: unknown }[]]
  return (Array.isArray(result) ? result[0] : result.rows).map(({ value }) => value)
}
