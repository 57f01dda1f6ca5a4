import type { SqlClient, SqlRow, SqlSession, StatementResult } from '../src/sql/session'
import type { Sql, SqlValues } from '../src/sql/sql'

/** Sends single statements, each on a session of its own. */
export interface StatementSender {
  /** Returns how many rows it changed; `NaN` if the client does not report it. */
  execute(statement: Sql, values: SqlValues): Promise<number>
  query(statement: Sql, values: SqlValues): Promise<readonly SqlRow[]>
}

/** Creates a client whose sessions own no connection and send each statement with the sender. */
export function clientOf(sender: StatementSender): SqlClient {
  const session: SqlSession = {
    execute: async (statement, values, wants) =>
      wants === 'rows'
        ? { rows: await sender.query(statement, values) }
        : { rows: [], changed: await sender.execute(statement, values) },
  }
  return { connect: () => Promise.resolve(session) }
}

/** Sends one statement on a session of its own. */
export async function sendTo(
  client: SqlClient,
  ...statement: Parameters<SqlSession['execute']>
): Promise<StatementResult> {
  const session = await client.connect()
  try {
    return await session.execute(...statement)
  } finally {
    await session.release?.()
  }
}

export function senderOf(client: SqlClient): StatementSender {
  return {
    execute: async (statement, values) =>
      Number((await sendTo(client, statement, values, 'changed')).changed ?? NaN),
    query: async (statement, values) => (await sendTo(client, statement, values, 'rows')).rows,
  }
}

/** Another client, whose rows are changed on their way. */
export function withRows(client: SqlClient, change: (row: SqlRow) => SqlRow): SqlClient {
  const sender = senderOf(client)
  return clientOf({
    execute: (...statement) => sender.execute(...statement),
    query: async (...statement) => (await sender.query(...statement)).map(change),
  })
}
