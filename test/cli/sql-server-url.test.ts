import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { tdsServer, type TdsLogin } from '../drivers/tds-server'
import { runCli } from './built-cli'

describe('a URL of SQL Server, by a fake server', () => {
  let logins: TdsLogin[]
  let server: Awaited<ReturnType<typeof tdsServer>>

  beforeEach(async () => {
    logins = []
    server = await tdsServer(
      () => ({}),
      (login) => logins.push(login),
    )
  })
  afterEach(() => server.close())

  it.each([
    ['mssql://sa:Shed%3BLock%40%2F1@127.0.0.1:PORT/app?encrypt=false', 'Shed;Lock@/1'],
    ['sqlserver://sa:Shed-1@127.0.0.1:PORT/app?Encrypt=False', 'Shed-1'],
    ['sqlserver://127.0.0.1:PORT;database=app;user=sa;password=Shed@1/2=3;encrypt=false', 'Shed@1/2=3'],
    ['sqlserver://127.0.0.1:PORT;database=app;user=sa;password={Shed;Lock=1};encrypt=FALSE;', 'Shed;Lock=1'],
    ['mssql://127.0.0.1:PORT; Initial Catalog = app; UID = {sa}; pwd={x}y};encrypt=no', 'x}y'],
  ])('%s is read as its maker meant it', async (url, password) => {
    const { stdout, stderr } = await runCli(['list', '--url', url.replace('PORT', String(server.port))])
    expect({ stdout, stderr }).toEqual({ stdout: 'There are no locks.\n', stderr: '' })
    // Its pool tries a connection before it opens its own.
    expect(logins.at(-1)).toEqual({ user: 'sa', password, database: 'app', encrypted: false })
  })

  it('asks for encryption unless it is switched off', async () => {
    await runCli(['list', '--url', `mssql://sa:Shed-1@127.0.0.1:${server.port}/app`])
    expect(logins.at(-1)).toMatchObject({ encrypted: true })
  })
})

it.each([
  ['mssql://sa:x;hunter2@127.0.0.1/app', 'write sqlserver'],
  ['sqlserver://127.0.0.1;password={x;hunter2', 'write sqlserver'],
  ['sqlserver://127.0.0.1;password={x}hunter2;user=sa', 'write sqlserver'],
  ['mssql://sa:x/y@hunter2@127.0.0.1/app', 'percent-encode'],
  ['sqlserver://127.0.0.1;authentication=ActiveDirectoryDefault', 'use --data-source'],
])('%s is refused, and nothing of it is shown', async (url, why) => {
  const { status, stderr } = await runCli(['list', '--url', url])
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(why) })
  expect(stderr).not.toContain('hunter2')
})
