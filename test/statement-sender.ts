import type { Sql, SqlClient, SqlRow, SqlSession, SqlValues } from '../src/sql/internal'

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

export function senderOf(client: SqlClient): StatementSender {
  const send = async (...statement: Parameters<SqlSession['execute']>) => {
    const session = await client.connect()
    try {
      return await session.execute(...statement)
    } finally {
      await session.release?.()
    }
  }
  return {
    execute: async (statement, values) => Number((await send(statement, values, 'changed')).changed ?? NaN),
    query: async (statement, values) => (await send(statement, values, 'rows')).rows,
  }
}
