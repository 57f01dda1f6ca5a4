import { spawnSync } from 'node:child_process'
import type { DataSource } from 'typeorm'
import type { DialectName } from '../../src/sql/dialect'
import { root } from '../project'

// Used outside of Jest as well.

/** How a server shows its sessions, and those that wait for a lock on a row or a table. */
export interface ServerSessions {
  readonly all: string
  readonly waiting: string
}

const ON_MYSQL: ServerSessions = {
  all: 'select id from information_schema.processlist where db = database() and id <> connection_id()',
  waiting: `
    select id from information_schema.processlist where db = database() and state like 'Waiting for%lock'
    union select trx_mysql_thread_id from information_schema.innodb_trx
    join information_schema.processlist on id = trx_mysql_thread_id
    where trx_state = 'LOCK WAIT' and db = database()`,
}
export const SESSIONS = {
  postgres: {
    all: 'select pid as id from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    waiting: `select pid as id from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  },
  mariadb: ON_MYSQL,
  mysql: ON_MYSQL,
} satisfies Partial<Record<DialectName, ServerSessions>>

/** Those of servers whose sessions can be seen. */
export function withSessions<Case extends { readonly dialect: DialectName }>(
  cases: readonly Case[],
): (Case & { readonly sessions: ServerSessions })[] {
  const known: Partial<Record<DialectName, ServerSessions>> = SESSIONS
  return cases.flatMap((each) => {
    const sessions = known[each.dialect]
    return sessions ? [{ ...each, sessions }] : []
  })
}

export async function idsOf(observer: DataSource, statement: string): Promise<string[]> {
  return (await observer.query<{ id: unknown }[]>(statement)).map(({ id }) => String(id))
}

const END_OTHERS = `
  const [url, all] = process.argv.slice(1)
  const end = async () => {
    const isPostgres = url.startsWith('postgres')
    const client = isPostgres
      ? new (require('pg').Client)(url)
      : await require('mysql2/promise').createConnection(url)
    await client.connect()
    const others = async () => {
      const answer = await client.query(all)
      return (isPostgres ? answer.rows : answer[0]).map(({ id }) => id)
    }
    const ended = await others()
    for (const id of ended)
      await client.query(isPostgres ? 'select pg_terminate_backend(' + id + ')' : 'kill ' + id)
    // The server ends a session a moment later.
    while ((await others()).some((id) => ended.includes(id))) await new Promise((resolve) => setTimeout(resolve, 10))
    await client.end()
  }
  end()`

/** Ends all other connections to the database from another process, while this one stands still. @returns what went wrong, else nothing */
export function endOtherSessions(url: string): string {
  const { all } = url.startsWith('postgres') ? SESSIONS.postgres : ON_MYSQL
  return spawnSync(process.execPath, ['-e', END_OTHERS, url, all], { cwd: root, encoding: 'utf8' }).stderr
}
