import { clientError } from '../core/internal'
import { adapterOf, type RawClientLike } from './prisma-client'

/**
 * Returns a check that a client cannot give a lock a connection with an open transaction of the app. Prepared statements cannot begin
 * one, but those of MySQL's text protocol can, and no statement shows it; MariaDB shows it.
 *
 * @throws LockError `INVALID_CLIENT`, when it is called
 */
export function preparedProtocol(client: RawClientLike): () => Promise<void> {
  // Not a promise that all share, because the connection of the first check may be silent.
  let isChecked = adapterOf(client)?.adapterName !== '@prisma/adapter-mariadb'
  return async () => {
    if (isChecked) return
    const rows = (await client.$queryRawUnsafe(
      "show session status where variable_name = 'Com_stmt_execute' and value = 0 and @@version not like '%MariaDB%'",
    )) as unknown[]
    if (rows.length > 0)
      throw clientError(
        'Over the text protocol of MySQL, which useTextProtocol and all adapters before 7.6 use, a lock cannot see a transaction that the app left open on its connection – pass a second adapter to prismaLockProvider: { adapter: new PrismaMariaDb(…) } with connectionLimit: 1.',
      )
    isChecked = true
  }
}
