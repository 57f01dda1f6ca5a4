import { expect, it } from '@jest/globals'
import { sqlServerOptions } from '../../src/cli/drivers/mssql-driver'

it.each([
  ['mssql://sa:Shed%3BLock%40%2F1@127.0.0.1:14/app?encrypt=false', 'Shed;Lock@/1'],
  ['sqlserver://sa:Shed-1@127.0.0.1:14/app?Encrypt=False', 'Shed-1'],
  ['sqlserver://127.0.0.1:14;database=app;user=sa;password=Shed@1/2=3;encrypt=false', 'Shed@1/2=3'],
  ['sqlserver://127.0.0.1:14;database=app;user=sa;password={Shed;Lock=1};encrypt=FALSE;', 'Shed;Lock=1'],
  ['mssql://127.0.0.1:14; Initial Catalog = app; UID = {sa}; pwd={x}y};encrypt=no', 'x}y'],
  ['mssql://sa:Shed-1@127.0.0.1:14/app', 'Shed-1', true],
])('%s is read as its maker meant it', (url, password, encrypt = false) => {
  expect(sqlServerOptions(url)).toEqual({
    ...{ server: '127.0.0.1', port: 14, database: 'app', user: 'sa', password },
    options: { encrypt, trustServerCertificate: false },
  })
})
