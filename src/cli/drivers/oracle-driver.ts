import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { loadDriver, type CliDriver } from './driver'

interface OracleDb {
  readonly OUT_FORMAT_OBJECT: number
  getConnection(options: object): Promise<{
    execute(
      text: string,
      values: unknown[],
      options: object,
    ): Promise<{ rows?: SqlRow[]; rowsAffected?: number }>
    close(): Promise<unknown>
  }>
}

/** Uses oracledb: `oracle://user:password@host:1521/service`. */
export const oracleDriver: CliDriver = {
  ...drivers.oracle,
  open: async (url) => {
    const oracle = loadDriver(['oracledb'], ['typeorm']).exports as OracleDb
    const { host, username, password, pathname } = new URL(url)
    const connection = await oracle.getConnection({
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      connectString: host + decodeURIComponent(pathname),
    })
    return {
      query: async (text, values) => {
        const options = { autoCommit: true, outFormat: oracle.OUT_FORMAT_OBJECT }
        const { rows = [], rowsAffected = 0 } = await connection.execute(text, [...values], options)
        return { rows, changed: rowsAffected }
      },
      close: () => connection.close(),
    }
  },
}
