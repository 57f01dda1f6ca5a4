import { readdirSync, readFileSync, statSync } from 'node:fs'

/** Runs one statement in autocommit through the raw driver. */
export type RunRaw = (text: string, values?: (string | number | null)[]) => Promise<unknown>

/**
 * Counters of a server's work. Each function starts counting, and returns a function that returns the count so far. They count the
 * whole server, so nothing else may use it.
 */
export interface ServerCounters {
  /** Bytes of write-ahead or redo log. */
  readonly log: () => Promise<() => Promise<number>>
  /** Microseconds of processor time, if the server runs on this machine. */
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

/** @param schema the schema with the server's status variables */
export function mysqlLikeCounters(
  query: RunRaw,
  schema: 'information_schema' | 'performance_schema',
): ServerCounters {
  // The first name is MariaDB's, the second MySQL's.
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

/** An embedded database has no server, and its work is part of the client's. */
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

/** The first number is the processor time in nanoseconds: https://docs.kernel.org/scheduler/sched-stats.html */
function sum(processes: readonly string[]): number {
  return processes.reduce((total, folder) => {
    try {
      return total + Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ', 1)[0]) / 1000
    } catch {
      return NaN
    }
  }, 0)
}

/** pg returns `{ rows }`, mysql2 `[rows, fields]`. */
async function values(query: RunRaw, text: string): Promise<unknown[]> {
  const result = (await query(text, [])) as { rows: { value: unknown }[] } | [{ value: unknown }[]]
  return (Array.isArray(result) ? result[0] : result.rows).map(({ value }) => value)
}
