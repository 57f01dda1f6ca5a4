import type { DataSource } from 'typeorm'
import type { DialectName } from '../../src/sql/dialects'
import { everyClient, type ClientCase } from '../conformance/every-client'

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
const SESSIONS: Partial<Record<DialectName, ServerSessions>> = {
  postgres: {
    all: 'select pid as id from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    waiting: `select pid as id from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  },
  mariadb: ON_MYSQL,
  mysql: ON_MYSQL,
}

/** The clients of servers whose sessions can be seen. */
export function servers(): (ClientCase & { readonly sessions: ServerSessions })[] {
  return everyClient().flatMap((client) => {
    const sessions = SESSIONS[client.dialect]
    return sessions ? [{ ...client, sessions }] : []
  })
}

export async function idsOf(observer: DataSource, statement: string): Promise<string[]> {
  return (await observer.query<{ id: unknown }[]>(statement)).map(({ id }) => String(id))
}
