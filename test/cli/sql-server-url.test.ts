import { createRequire } from 'node:module'
import { expect, it } from '@jest/globals'
import { connectionString } from '../../src/cli/drivers/mssql-driver'

/** It has no types. */
const { ConnectionPool } = createRequire(__filename)('mssql') as {
  ConnectionPool: { parseConnectionString(text: string): object }
}

it.each([
  ['sqlserver://127.0.0.1:14;database=app;user=sa;password=Shed@1/2=3;encrypt=false', 'Shed@1/2=3', false],
  [
    'mssql://127.0.0.1:14;databaseName=app; userId = sa;password={Shed;Lock=1};encrypt=FALSE;',
    'Shed;Lock=1',
    false,
  ],
  ['sqlserver://127.0.0.1:14;Initial Catalog=app;UID=sa;pwd={x};trustServerCertificate=true', 'x', undefined],
])('%s is read as its maker meant it', (url, password, encrypt) => {
  expect(ConnectionPool.parseConnectionString(connectionString(url))).toMatchObject({
    ...{ server: '127.0.0.1', port: 14, database: 'app', user: 'sa', password },
    options: { ...(encrypt !== undefined && { encrypt }) },
  })
})
